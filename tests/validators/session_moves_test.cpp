// One session moves through every provider and preset, is saved and loaded between its turns, and every request is
// valid by the rules of the provider that gets it.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"

#include "tests/cases.hpp"
#include "tests/validators/move_targets.hpp"

namespace allm::session_moves_test {
namespace {

using testing::Answer;
using testing::AnsweredCall;
using testing::MoveTarget;
using testing::Problems;

const std::vector<MoveTarget>& targets() {
  static const auto* const all = new std::vector<MoveTarget>(testing::move_targets());
  return *all;
}

const MoveTarget& target_of(std::string_view name) { return *std::ranges::find(targets(), name, &MoveTarget::name); }

std::vector<Tool> tools() {
  const Json city = {{"type", "object"}, {"properties", {{"city", {{"type", "string"}}}}}, {"required", {"city"}}};
  return {
      {.name = "weather",
       .schema = city,
       .handler = [](const Json&) { return ok({{"sky", "clear"}, {"celsius", 21}}); }},
      {.name = "empty", .handler = [](const Json&) { return ok(""); }},
      {.name = "fails", .handler = [](const Json&) { return failure("no"); }},
      {.name = "asks", .handler = [](const Json&) { return ask_user("Which one?"); }},
      {.name = "halts", .handler = [](const Json&) { return halt("enough", "done"); }},
      {.name = "by_hand", .manual = true},
  };
}

const Image kPixel = {.source = MediaBytes{"\x89PNG\r\n\x1a\n not a real image"}, .mime_type = "image/png"};

// A conversation with random turns. One thread.
class Conversation {
 public:
  explicit Conversation(std::uint64_t seed) : random_(seed) {
    session_.thread.messages.push_back(system("You are brief."));
  }

  // Runs one turn with this target, then saves and loads the session.
  void turn(const MoveTarget& target) {
    steps_ = 0;
    fails_ = false;
    run(target);
    settle();
    const Result<std::string> saved = to_json(session_);
    ASSERT_TRUE(saved.has_value()) << saved.error().message();
    const Result<Session> loaded = from_json<Session>(*saved);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
    EXPECT_EQ(*loaded, session_);
    session_ = *loaded;
  }

  const Problems& problems() const { return problems_; }
  const std::map<std::string, std::size_t>& requests() const { return requests_; }

 private:
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }

  Engine engine_of(const MoveTarget& target) {
    const auto sent = [this, &target](const HttpRequest& request) {
      ++requests_[target.name];
      for (const std::string& problem : problems_of(target, request.body)) {
        problems_.push_back(target.name + ": " + problem);
      }
      if (problems_.size() == 1) std::cout << problems_[0] << '\n' << request.body << '\n';
    };
    const auto answer = [this, &target](const AdapterCall&) { return body_of_answer(target); };
    return Engine({.adapter = testing::codec_adapter(target.codec, sent, answer),
                   .model = target.model,
                   .tools = chance(8) ? std::vector<Tool>{} : tools(),
                   .retry = RetryPolicy::off()});
  }

  std::string body_of_answer(const MoveTarget& target) {
    ++steps_;
    Answer answer;
    if (chance(2)) answer.reasoning = "Hm. " + testing::signature_of(target.codec->provider());
    // Gemini 3 signs all its calls.
    const bool signs = target.signs && (chance(2) || target.name == "gemini 3");
    if (signs) answer.signature = testing::signature_of(target.codec->provider());
    const std::vector<std::string> texts = {"", "Clear.", " ", "Köln: 21°"};
    answer.text = texts[below(texts.size())];
    if (steps_ <= 3 && !chance(3)) add_calls(target, answer);
    answer.is_cut = answer.calls.empty() && chance(6);
    std::string body = target.answer(answer);
    if (chance(25)) {
      fails_ = true;
      body.resize(body.size() / 2);
    }
    return body;
  }

  void add_calls(const MoveTarget& target, Answer& answer) {
    const std::vector<std::string> names = {"weather", "weather", "weather", "weather", "empty",
                                            "fails",   "asks",    "halts",   "by_hand", "no such tool!"};
    const std::size_t count = 1 + below(3);
    for (std::size_t i = 0; i < count; ++i) {
      AnsweredCall call{.id = target.call_id(next_call_++),
                        .name = names[below(names.size())],
                        .arguments = chance(8) ? "{\"city\":" : R"({"city":"Rome"})"};
      answer.calls.push_back(std::move(call));
    }
  }

  void run(const MoveTarget& target) {
    CallOptions options{.max_turns = 5, .on_unknown_tool = OnUnknownTool::report};
    if (chance(2)) options.prompt_cache = PromptCache{};
    switch (below(6)) {
      case 0:
        cancel(target, options);
        break;
      case 1:
        run_steps(target, options);
        break;
      case 2:
        take(session_reply(engine_of(target), session_, std::vector<Part>{TextPart{"Look:"}, ImagePart{kPixel}},
                           options));
        break;
      default:
        take(session_reply(engine_of(target), session_, "And now?", options));
        break;
    }
  }

  void cancel(const MoveTarget& target, const CallOptions& options) {
    SessionStream stream = session_stream_reply(engine_of(target), session_, "Never mind.", options);
    for (std::size_t left = below(30); left > 0; --left) {
      if (!stream.next()) break;
    }
    stream.drop();
    session_ = stream.session();
  }

  // Every step with another target: the turn moves, too.
  void run_steps(const MoveTarget& first, const CallOptions& options) {
    Content said = "Step by step.";
    if (session_.status == SessionStatus::awaiting_user) {
      take(session_reply(engine_of(first), session_, said, options));
      return;
    }
    session_.thread.messages.push_back(user(std::move(said)));
    session_.status = SessionStatus::idle;
    const MoveTarget* target = &first;
    do {
      const Result<SessionStep> step = session_step(engine_of(*target), session_, options);
      if (!step) {
        expect_planned(step.error());
        return;
      }
      session_ = step->session;
      target = &targets()[below(targets().size())];
    } while (session_.status == SessionStatus::idle && steps_ < 5);
  }

  void take(const Result<SessionTurn>& turn) {
    if (turn) {
      session_ = turn->session;
    } else {
      expect_planned(turn.error());
    }
  }

  // A call fails only because its answer was cut off.
  void expect_planned(const Error& error) const { EXPECT_TRUE(fails_) << error.message(); }

  // Answers pending calls in reverse order, and recovers from an error.
  void settle() {
    if (session_.status == SessionStatus::awaiting_tools) {
      std::vector<SubmittedResult> results;
      for (const ToolCall& call : session_.pending_tool_calls) {
        results.push_back({.tool_call_id = call.id, .result = "by hand", .is_error = chance(2)});
      }
      std::ranges::reverse(results);
      const Result<Session> answered = submit_tool_results(session_, results);
      ASSERT_TRUE(answered.has_value()) << answered.error().message();
      session_ = *answered;
    }
    if (session_.status == SessionStatus::error) session_ = session_recover(session_).value_or(session_);
  }

  std::mt19937_64 random_;
  Session session_{.id = "moving"};
  std::uint64_t next_call_ = 0;
  std::size_t steps_ = 0;
  bool fails_ = false;
  Problems problems_;
  std::map<std::string, std::size_t> requests_;
};

TEST(SessionMoves, EveryRequestIsValidForItsProvider) {
  std::map<std::string, std::size_t> requests;
  for (int round = 0; round < testing::computed_cases(200); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<const MoveTarget*> order;
    for (const MoveTarget& target : targets()) order.push_back(&target);
    std::ranges::shuffle(order, std::mt19937_64(static_cast<std::uint64_t>(round)));
    Conversation conversation(static_cast<std::uint64_t>(round));
    for (const MoveTarget* target : order) conversation.turn(*target);
    ASSERT_EQ(conversation.problems(), Problems{});
    for (const auto& [name, count] : conversation.requests()) requests[name] += count;
  }
  for (const MoveTarget& target : targets())
    EXPECT_GE(requests[target.name], static_cast<std::size_t>(testing::computed_cases(100))) << target.name;
}

TEST(SessionMoves, AnotherEngineContinuesTheSession) {
  const auto engine_of = [](const MoveTarget& target) {
    const auto answer = [&target](const AdapterCall&) { return target.answer({.text = "I am " + target.name + "."}); };
    return Engine(
        {.adapter = testing::codec_adapter(target.codec, [](const HttpRequest&) {}, answer), .model = target.model});
  };
  const Engine claude = engine_of(target_of("anthropic"));
  const Engine gpt = engine_of(target_of("openai responses"));
  // [sessions-move]
  allm::Result<allm::SessionTurn> turn = allm::session_reply(claude, {.id = "ada-1"}, "Who are you?");
  if (turn) turn = allm::session_reply(gpt, turn->session, "And now?");
  // [/sessions-move]
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->result.text(), "I am openai responses.");
}

// The bodies of the requests to `target` of a run that calls the failing tool, and of a later run with the session as
// it was saved.
std::vector<std::string> bodies_after_a_failure(const MoveTarget& target) {
  std::vector<std::string> bodies;
  const auto sent = [&bodies](const HttpRequest& request) { bodies.push_back(request.body); };
  const auto answer = [&](const AdapterCall&) {
    if (bodies.size() > 1) return target.answer({.text = "Sorry."});
    return target.answer({.calls = {{.id = target.call_id(1), .name = "fails", .arguments = "{}"}}});
  };
  const Engine engine(
      {.adapter = testing::codec_adapter(target.codec, sent, answer), .model = target.model, .tools = tools()});
  const Result<SessionTurn> turn = session_reply(engine, {}, "hi");
  EXPECT_TRUE(turn.has_value());
  if (!turn) return {"", "", ""};
  const Result<Session> loaded = from_json<Session>(to_json(turn->session).value_or(""));
  EXPECT_TRUE(loaded && session_reply(engine, *loaded, "again").has_value());
  bodies.resize(3);
  return bodies;
}

TEST(FailedTools, AreMarkedForAnthropicAlsoAfterSaving) {
  const std::vector<std::string> bodies = bodies_after_a_failure(target_of("anthropic"));
  for (const std::string& body : {bodies[1], bodies[2]}) {
    EXPECT_NE(body.find(R"("content":"{\"error\":\"no\"}","is_error":true)"), std::string::npos) << body;
  }
}

TEST(FailedTools, HaveAnErrorForGeminiAlsoAfterSaving) {
  const std::vector<std::string> bodies = bodies_after_a_failure(target_of("gemini 3"));
  for (const std::string& body : {bodies[1], bodies[2]}) {
    EXPECT_NE(body.find(R"("response":{"error":"no"})"), std::string::npos) << body;
  }
}

// A gateway that translates for Google needs the name of the tool, because Google has no ids.
TEST(ToolMessages, HaveTheNameOfTheToolWhereAGatewayNeedsIt) {
  for (const MoveTarget& target : targets()) {
    const bool is_openai = target.name == "openai chat" || target.name == "azure";
    const std::string body = bodies_after_a_failure(target)[1];
    if (body.find("tool_call_id") == std::string::npos) continue;  // another protocol
    const bool has_name = body.find(R"("content":"{\"error\":\"no\"}","name":"fails"})") != std::string::npos;
    EXPECT_EQ(has_name, !is_openai) << target.name << ": " << body;
  }
}

// A stream that is dropped between the end of its last step and the end of the run leaves calls of manual tools
// pending.
TEST(SessionMoves, ADroppedStreamDoesNotLoseManualCalls) {
  const MoveTarget& target = target_of("openai chat");
  const auto answer = [&](const AdapterCall&) {
    return target.answer({.calls = {{.id = "a", .name = "by_hand", .arguments = "{}"}}});
  };
  const Engine engine({.adapter = testing::codec_adapter(
                           target.codec, [](const HttpRequest&) {}, answer),
                       .model = target.model,
                       .tools = tools()});
  SessionStream stream = session_stream_reply(engine, {}, "hi");
  while (const Poll event = stream.next()) {
    if (event->get_if<StepCompleted>() != nullptr) break;
  }
  stream.drop();
  const Session session = stream.session();
  EXPECT_EQ(session.status, SessionStatus::awaiting_tools);
  ASSERT_EQ(session.pending_tool_calls.size(), 1U);
  EXPECT_EQ(session.pending_tool_calls[0].id, "a");
}

}  // namespace
}  // namespace allm::session_moves_test
