// Helpers for tests of limits and cancellation: tools that do not return, and both forms of a run.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/validate.hpp"

#include "runtime/test_waits.hpp"

namespace allm::testing {

enum class Form : std::uint8_t { folded, streamed };
inline std::string name_of(const ::testing::TestParamInfo<Form>& info) {
  return info.param == Form::folded ? "Folded" : "Streamed";
}

// Runs a chat in one of the two forms. Expects a result without an error and a valid thread.
inline ChatResult run_in(Form form, const Engine& engine, const Thread& thread, const CallOptions& options = {}) {
  Result<ChatResult> result = ChatResult{};
  if (form == Form::folded) {
    result = chat(engine, thread, options);
  } else {
    StreamCollector collector(thread);
    EventTag last = EventTag::error;
    for (const Event& event : stream(engine, thread, options)) {
      EXPECT_NE(event.tag(), EventTag::error) << event.get_if<ErrorEvent>()->error.message();
      last = event.tag();
      collector.apply(event);
    }
    EXPECT_EQ(last, EventTag::chat_completed);
    result = collector.chat_result();
  }
  EXPECT_TRUE(result.has_value()) << result.error().message();
  if (!result) return {};
  EXPECT_EQ(result->error(), nullptr);
  EXPECT_TRUE(validate(result->thread).has_value());
  return *std::move(result);
}

// Whether another run can continue the thread.
inline bool can_go_on(const Thread& thread) {
  const Engine engine({.adapter = fake({{fake_text("on"), fake_finish(FinishReason::stop)}})});
  Thread longer = thread;
  longer.messages.push_back(user("go on"));
  const auto result = chat(engine, longer);
  return result && result->halted_reason() == halted::completed;
}

inline std::string reason_of(const Message& message) {
  const Json content = Json::parse(message.text(), nullptr, false);
  return content.is_object() ? content.value("reason", "none") : message.text();
}
inline std::vector<std::string> reasons_of(const StepResult& step) {
  std::vector<std::string> reasons;
  for (const Message& message : step.tool_results) reasons.push_back(reason_of(message));
  return reasons;
}

// A tool whose handlers ignore their stop tokens and return only when `may_end` is opened.
struct Stubborn {
  std::shared_ptr<Gate> may_end = std::make_shared<Gate>();
  std::shared_ptr<Counter> entered = std::make_shared<Counter>();
  std::shared_ptr<Counter> asked_to_stop = std::make_shared<Counter>();
  Tool tool() const {
    return {.name = "stubborn",
            .handler = [gate = may_end, in = entered, asked = asked_to_stop](const Json&, const ToolContext& context) {
              in->add();
              gate->wait();
              if (context.stop_token().stop_requested()) asked->add();
              return ok("late");
            }};
  }
};

inline const FakeEntry kRunTools = fake_finish(FinishReason::tool_calls);
inline const FakeCallScript kAnswer = {fake_text("answer"), fake_finish(FinishReason::stop)};
inline const FakeCallScript kGood = {fake_tool_call("c0", "good"), kRunTools};
inline const FakeCallScript kHangs = {fake_text("begun"), fake_delay(std::chrono::hours(1)), fake_text("never"),
                                      fake_finish(FinishReason::stop)};

inline std::vector<Tool> usual_tools() {
  return {{.name = "good", .handler = [](const Json&) { return ok("fine"); }},
          {.name = "bad", .handler = [](const Json& arguments) { return failure(arguments.value("why", Json("no"))); }},
          {.name = "halts", .handler = [](const Json&) { return halt("own", 1); }},
          {.name = "manual", .manual = true}};
}
inline std::vector<Tool> with_usual(Tool tool) {
  std::vector<Tool> tools = usual_tools();
  tools.push_back(std::move(tool));
  return tools;
}

}  // namespace allm::testing
