#include "data/validate.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "data/utf8.hpp"

namespace allm::validate_test {
namespace {

using Errors = std::vector<FieldError>;

Errors errors_of(const Status& status, ValidationError::Reason reason) {
  if (status.has_value()) return {};
  const auto* detail = status.error().get_if<ValidationError>();
  if (detail == nullptr) return {{{"not a validation error"}, std::string(status.error().kind())}};
  EXPECT_EQ(detail->reason, reason);
  EXPECT_FALSE(detail->errors.empty());
  return detail->errors;
}
Errors check(const Message& m) { return errors_of(validate(m), ValidationError::Reason::invalid_message); }
Errors check(const Tool& t) { return errors_of(validate(t), ValidationError::Reason::invalid_tool); }
Errors check(const Thread& t) { return errors_of(validate(t), ValidationError::Reason::invalid_thread); }
Errors check(const Request& r) { return errors_of(validate(r), ValidationError::Reason::invalid_request); }
Errors check(const Session& s) { return errors_of(validate(s), ValidationError::Reason::invalid_session); }

const Message kNoCallId = {.role = Role::tool, .content = "x"};
const Message kBadPart =
    user(std::vector<Part>{TextPart{.text = "a"}, UnknownPart{{{"__type__", "ALLM.SoundPart"}}}, UnknownPart{5}});

TEST(ValidateMessageTest, AcceptsEveryRole) {
  EXPECT_EQ(check(system("a")), Errors());
  EXPECT_EQ(check(user("")), Errors());
  EXPECT_EQ(check(assistant("äöü 🎉 long enough to need more than a word of eight bytes, and then some more text")),
            Errors());
  EXPECT_EQ(check(tool_result("c0", "x")), Errors());
  EXPECT_EQ(check(tool_result("", "x")), Errors());
  EXPECT_EQ(check(user(std::vector<Part>())), Errors());
  EXPECT_EQ(check(user(std::vector<Part>{TextPart{.text = "a"}, ImagePart{.image = {.source = ImageUrl{"u"}}}})),
            Errors());
}

TEST(ValidateMessageTest, AToolMessageNeedsACallId) {
  EXPECT_EQ(check(kNoCallId), (Errors{{{"tool_call_id"}, "required"}}));
}

TEST(ValidateMessageTest, ARoleOutsideTheSetIsUnknown) {
  EXPECT_EQ(check(Message{.role = static_cast<Role>(9)}), (Errors{{{"role"}, "unknown"}}));
}

TEST(ValidateMessageTest, AnUnknownPartIsNamedInMetadataAndMessage) {
  EXPECT_EQ(check(kBadPart), (Errors{{{"content"}, "invalid_part_type"}}));
  const Status status = validate(kBadPart);
  EXPECT_EQ(
      status.error().metadata().dump(),
      R"({"invalid_part_type":{"expected":["ALLM.TextPart","ALLM.ImagePart","ALLM.FilePart","ALLM.AudioPart"],"got":"ALLM.SoundPart"}})");
  EXPECT_EQ(status.error().message(),
            "invalid message: content has a part of type ALLM.SoundPart: "
            "expected ALLM.TextPart, ALLM.ImagePart, ALLM.FilePart or ALLM.AudioPart");
  EXPECT_EQ(validate(user(std::vector<Part>{UnknownPart{5}})).error().metadata()["invalid_part_type"]["got"], "number");
}

TEST(ValidateMessageTest, TextThatIsNotUtf8IsRefused) {
  const Errors expected = {{{"content"}, "invalid_utf8"}};
  EXPECT_EQ(check(user("\xff")), expected);
  EXPECT_EQ(check(user(std::string(100, 'a') + "\xc3")), expected);
  EXPECT_EQ(check(user("\xed\xa0\x80")), expected);
  EXPECT_EQ(check(user(std::vector<Part>{TextPart{.text = "\xc0\x80"}})), expected);
  EXPECT_EQ(check(user(std::vector<Part>{ImagePart{.image = {.source = ImageUrl{"\xff"}}}})), expected);
  EXPECT_EQ(check(user(std::vector<Part>{ImagePart{.image = {.source = ImageBytes{"\xff"}}}})), Errors());
  EXPECT_EQ(check(user(std::vector<Part>{FilePart{.file = {.source = MediaId{"\xff"}}}})), expected);
  EXPECT_EQ(check(user(std::vector<Part>{FilePart{.file = {.source = MediaUrl{"u"}, .name = "\xff"}}})), expected);
  EXPECT_EQ(check(user(std::vector<Part>{FilePart{.file = {.source = MediaBytes{"\xff"}, .name = "a"}}})), Errors());
  EXPECT_EQ(check(user(std::vector<Part>{AudioPart{.audio = {.source = MediaUrl{"\xff"}}}})), expected);
  EXPECT_EQ(check(user(std::vector<Part>{AudioPart{.audio = {.source = MediaPath{"a"}, .mime_type = "\xff"}}})),
            expected);
}

TEST(ValidateMessageTest, FindsABadByteAtEveryPosition) {
  for (std::size_t size = 1; size < 80; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      EXPECT_TRUE(is_utf8(text));
      text[at] = '\x80';
      EXPECT_FALSE(is_utf8(text)) << size << " " << at;
    }
  }
  EXPECT_TRUE(is_utf8(""));
}

TEST(ValidateMessageTest, ErrorsComeInRuleOrder) {
  Message message = kBadPart;
  message.role = Role::tool;
  EXPECT_EQ(check(message), (Errors{{{"content"}, "invalid_part_type"}, {{"tool_call_id"}, "required"}}));
}

TEST(ValidateToolTest, AcceptsNamesOfTheRightForm) {
  EXPECT_EQ(check(Tool{.name = "a"}), Errors());
  EXPECT_EQ(check(Tool{.name = "get-Weather_2"}), Errors());
  EXPECT_EQ(check(Tool{.name = std::string(64, 'x')}), Errors());
  EXPECT_EQ(check(Tool{.name = "automatic"}), Errors());
}

TEST(ValidateToolTest, RefusesOtherNames) {
  EXPECT_EQ(check(Tool{.name = ""}), (Errors{{{"name"}, "empty"}}));
  for (const char* name : {"auto", "none", "required"}) {
    EXPECT_EQ(check(Tool{.name = name}), (Errors{{{"name"}, "reserved_tool_name"}}));
  }
  for (const std::string& name : {std::string("a b"), std::string("größe"), std::string(65, 'x'), std::string("a\n"),
                                  std::string("a.b"), std::string("a\0", 2), std::string("\xff"), std::string(" ")}) {
    EXPECT_EQ(check(Tool{.name = name}), (Errors{{{"name"}, "invalid_format"}})) << name;
  }
}

TEST(ValidateToolTest, ReportsEveryField) {
  EXPECT_EQ(check(Tool{.name = "", .description = "\xff", .schema = nullptr, .summary = "\xff"}),
            (Errors{{{"name"}, "empty"},
                    {{"description"}, "invalid_utf8"},
                    {{"schema"}, "not_a_map"},
                    {{"summary"}, "invalid_utf8"}}));
  EXPECT_EQ(check(Tool{.name = "a", .schema = Json::array()}), (Errors{{{"schema"}, "not_a_map"}}));
}

TEST(ValidateThreadTest, AnEmptyThreadIsValid) { EXPECT_EQ(check(Thread()), Errors()); }

TEST(ValidateThreadTest, CollectsAllErrorsWithTheirPaths) {
  const Thread thread = {user("ok"), kNoCallId, kBadPart};
  EXPECT_EQ(check(thread),
            (Errors{{{"messages", 1, "tool_call_id"}, "required"}, {{"messages", 2, "content"}, "invalid_part_type"}}));
  EXPECT_EQ(validate(thread).error().metadata(), Json::object());
}

TEST(ValidateThreadTest, ManyErrorsAreAllReportedAndTheMessageStaysReadable) {
  Thread thread;
  for (int i = 0; i < 1000; ++i) thread.messages.push_back(kNoCallId);
  EXPECT_EQ(check(thread).size(), 1000U);
  EXPECT_NE(validate(thread).error().message().find("; and 900 more"), std::string::npos);
}

TEST(ValidateThreadTest, OnlyNewMessagesAreCheckedOnRequest) {
  const Thread thread = {kNoCallId, user("ok"), kNoCallId};
  Errors errors;
  check_messages(thread.messages, 1, errors);
  EXPECT_EQ(errors, (Errors{{{"messages", 2, "tool_call_id"}, "required"}}));
  errors.clear();
  check_messages(thread.messages, 3, errors);
  EXPECT_EQ(errors, Errors());
  check_messages(thread.messages, 99, errors);
  EXPECT_EQ(errors, Errors());
}

TEST(ValidateRequestTest, AcceptsBoundaryValues) {
  for (const double temperature : {0.0, 2.0, 0.7, -0.0}) {
    EXPECT_EQ(check(Request{.messages = {user("hi")}, .temperature = temperature}), Errors());
  }
  EXPECT_EQ(check(Request{.messages = {user("hi")}, .max_tokens = 1}), Errors());
  EXPECT_EQ(check(Request{.messages = {user("hi")}, .prompt_cache = PromptCache{}}), Errors());
  EXPECT_EQ(check(Request{.messages = {user("hi")}, .response_format = ResponseFormat::text()}), Errors());
  EXPECT_EQ(check(Request{.messages = {user("hi")},
                          .response_format = ResponseFormat::json_schema("a", Json::object()),
                          .structured_finalize = true}),
            Errors());
}

TEST(ValidateRequestTest, RefusesTemperaturesOutOfRange) {
  for (const double temperature : {-0.1, 2.0001, std::nan(""), std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(check(Request{.messages = {user("hi")}, .temperature = temperature}),
              (Errors{{{"temperature"}, "out_of_range"}}));
  }
}

TEST(ValidateRequestTest, FinalizeNeedsASchemaFormat) {
  const Errors expected = {{{"structured_finalize"}, "requires_json_schema"}};
  EXPECT_EQ(check(Request{.messages = {user("hi")}, .structured_finalize = true}), expected);
  EXPECT_EQ(
      check(Request{
          .messages = {user("hi")}, .response_format = ResponseFormat::json_object(), .structured_finalize = true}),
      expected);
  const Json of_provider = {{"type", "json_schema"}, {"json_schema", {{"name", "a"}}}};
  EXPECT_EQ(check(Request{.messages = {user("hi")},
                          .response_format = ResponseFormat::from_json(of_provider),
                          .structured_finalize = true}),
            Errors());
}

TEST(ValidateRequestTest, EveryRuleIsReportedInOrder) {
  const Request request = {.messages = {user("hi"), kNoCallId},
                           .temperature = 3.0,
                           .max_tokens = 0,
                           .response_format = ResponseFormat::from_json(5),
                           .tools = {Tool{.name = "a"}, Tool{.name = "b c"}, Tool{.name = "a", .schema = 1}},
                           .structured_finalize = true,
                           .prompt_cache = PromptCache{.key = ""}};
  const Errors expected = {{{"messages", 1, "tool_call_id"}, "required"},
                           {{"tools", 1, "name"}, "invalid_format"},
                           {{"tools", 2, "schema"}, "not_a_map"},
                           {{"tools"}, "duplicate_name"},
                           {{"temperature"}, "out_of_range"},
                           {{"max_tokens"}, "must_be_positive"},
                           {{"response_format"}, "invalid_shape"},
                           {{"structured_finalize"}, "requires_json_schema"},
                           {{"prompt_cache"}, "invalid_shape"}};
  EXPECT_EQ(check(request), expected);
  EXPECT_EQ(validate(request).error().message(),
            "invalid request: messages[1].tool_call_id is required: a tool message names the call that it answers; "
            "tools[1].name must be 1 to 64 letters, digits, '_' and '-'; tools[2].schema must be a JSON object; "
            "tools: two tools are named 'a'; temperature must be a number from 0 to 2; max_tokens must be a positive "
            "integer; response_format must be \"text\" or an object; structured_finalize needs a response_format of "
            "type json_schema; prompt_cache must have a key that is null or not empty, and a retention short or long");
}

TEST(ValidateRequestTest, AnEmptyConversationComesFirst) {
  EXPECT_EQ(check(Request{.temperature = 9.0}), (Errors{{{"messages"}, "empty"}, {{"temperature"}, "out_of_range"}}));
}

TEST(ValidateRequestTest, ErrorsOfUntypedValuesTakeTheirPlaces) {
  const Request request = {.messages = {kNoCallId, user("hi")}, .structured_finalize = true};
  const WrongTypes wrong = {
      .bad_temperature = true, .bad_max_tokens = true, .bad_response_format = true, .bad_prompt_cache = true};
  EXPECT_EQ(errors_of(check_request(request, 1, wrong), ValidationError::Reason::invalid_request),
            (Errors{{{"temperature"}, "out_of_range"},
                    {{"max_tokens"}, "must_be_positive"},
                    {{"response_format"}, "invalid_shape"},
                    {{"structured_finalize"}, "requires_json_schema"},
                    {{"prompt_cache"}, "invalid_shape"}}));
}

TEST(ValidateRequestTest, FindsOneDuplicateAmongManyTools) {
  Request request = {.messages = {user("hi")}};
  for (int i = 0; i < 20'000; ++i) request.tools.push_back({.name = "tool_" + std::to_string(i)});
  EXPECT_EQ(check(request), Errors());
  request.tools.push_back({.name = "tool_7"});
  EXPECT_EQ(check(request), (Errors{{{"tools"}, "duplicate_name"}}));
  EXPECT_EQ(validate(request).error().message(), "invalid request: tools: two tools are named 'tool_7'");
}

TEST(ValidateSessionTest, EachStatusHasWhatItNeeds) {
  EXPECT_EQ(check(Session()), Errors());
  EXPECT_EQ(check(Session{.status = SessionStatus::awaiting_user}),
            (Errors{{{"pending_question"}, "required_for_status"}}));
  EXPECT_EQ(check(Session{.status = SessionStatus::awaiting_user, .pending_question = "?"}), Errors());
  EXPECT_EQ(check(Session{.status = SessionStatus::awaiting_tools}),
            (Errors{{{"pending_tool_calls"}, "required_for_status"}}));
  EXPECT_EQ(check(Session{.status = SessionStatus::awaiting_tools, .pending_tool_calls = {{{.id = "c", .name = "t"}}}}),
            Errors());
  EXPECT_EQ(check(Session{.status = SessionStatus::error}), (Errors{{{"metadata"}, "error_required_for_status"}}));
  EXPECT_EQ(check(Session{.status = SessionStatus::error, .metadata = {{"error", "x"}}}), Errors());
  EXPECT_EQ(check(Session{.status = static_cast<SessionStatus>(77)}), (Errors{{{"status"}, "unknown"}}));
}

TEST(ValidateSessionTest, ErrorsOfTheThreadComeLastUnderIt) {
  EXPECT_EQ(
      check(Session{.thread = {user("a"), kNoCallId}, .status = SessionStatus::awaiting_user}),
      (Errors{{{"pending_question"}, "required_for_status"}, {{"thread", "messages", 1, "tool_call_id"}, "required"}}));
}

}  // namespace
}  // namespace allm::validate_test
