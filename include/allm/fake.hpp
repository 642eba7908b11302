// A scripted model, for tests, examples and experiments without a key. It answers from a script:
//
//   auto fake = allm::fake({{allm::fake_tool_call("c0", "weather", {{"city", "Rome"}}),
//                            allm::fake_finish(allm::FinishReason::tool_calls)},
//                           {allm::fake_text("Sunny."), allm::fake_finish(allm::FinishReason::stop)}});
//   allm::Engine engine({.adapter = fake, .tools = {weather}});
//
// or from a function of the request:
//
//   auto echo = allm::fake([](const allm::Request& request) -> allm::FakeCallScript {
//     return {allm::fake_text(request.messages.back().text()), allm::fake_finish(allm::FinishReason::stop)};
//   });
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "allm/adapter.hpp"

namespace allm {

struct FakeText {
  std::string text;
};
// Reasoning text. It may be before or between the other entries.
struct FakeReasoning {
  std::string text;
};
struct FakeToolCall {
  std::string id;
  std::string name;
  Json arguments = empty_object();
  // The text of the arguments. If it is set, `arguments` is ignored: the call has the parsed text, or {} if the text is
  // not a JSON object.
  std::optional<std::string> raw_arguments = std::nullopt;
};
// A piece of the text of a call's arguments, as a ToolCallDelta.
struct FakeToolCallDelta {
  std::string id;
  std::string arguments_delta;
};
struct FakeUsage {
  Usage usage;
};
struct FakeRawChunk {
  Json chunk;
};
// Completes the message. Entries after it are not used.
struct FakeFinish {
  FinishReason reason;
};
// The stream ends with this error.
struct FakeError {
  Error error;
};
// Waits, on the runtime's timer, before the next entry.
struct FakeDelay {
  std::chrono::milliseconds delay;
};
// If it is the first entry, open() fails with this error. Elsewhere it is like FakeError.
struct FakePreflightError {
  Error error;
};
// As the first entry: open() fails unless the call has this tool_choice.
struct FakeExpectToolChoice {
  std::optional<ToolChoice> choice;  // nullopt: no tool_choice
};
using FakeEntry = std::variant<FakeText, FakeReasoning, FakeToolCall, FakeToolCallDelta, FakeUsage, FakeRawChunk,
                               FakeFinish, FakeError, FakeDelay, FakePreflightError, FakeExpectToolChoice>;

FakeEntry fake_text(std::string text);
FakeEntry fake_reasoning(std::string text);
FakeEntry fake_tool_call(std::string id, std::string name, Json arguments = empty_object());
FakeEntry fake_finish(FinishReason reason);
FakeEntry fake_usage(Usage usage);
FakeEntry fake_delay(std::chrono::milliseconds delay);
// Make a FakeError and a FakePreflightError with an AdapterError of that reason.
FakeEntry fake_error(AdapterError::Reason reason);
FakeEntry fake_preflight_error(AdapterError::Reason reason);

// The entries of one call. Without a FakeFinish the message has no finish reason.
using FakeCallScript = std::vector<FakeEntry>;
using FakeScript = std::vector<FakeCallScript>;  // one inner script per model call

// Reads a script from JSON, in the form of scenario files (docs/scenario-format.md). Fails with ValidationError
// `invalid_scenario` and the path of the error.
Result<FakeScript> fake_script_from_json(const Json& json);

// Returns the script of a model call. open() calls the function on the thread that opens the call, possibly on several
// threads at once, so the function must protect shared data. It must not block. If it throws, the call fails with
// AdapterError `no_scripted_response`, whose message has the exception's text.
using FakeFunction = std::function<FakeCallScript(const AdapterCall& call)>;

struct FakeOptions {
  std::optional<Usage> usage = std::nullopt;  // reported by every call instead of its FakeUsage
  bool record = false;                        // whether calls are kept for requests()
};

// An adapter that plays a script. Safe to use from any thread. Each adapter has its own position in the script; engines
// that share an adapter share the position. The script itself is shared, not copied.
class FakeAdapter : public Adapter {
 public:
  explicit FakeAdapter(std::shared_ptr<const FakeScript> script, FakeOptions options = {});
  explicit FakeAdapter(FakeFunction answer, FakeOptions options = {});

  std::string_view provider() const override { return "fake"; }
  // Uses the next inner script, or calls the function. If no script is left, the call fails with AdapterError
  // `no_scripted_response`.
  Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) override;

  // The calls received so far if FakeOptions::record is set; else empty.
  std::vector<AdapterCall> requests() const;
  // The number of calls so far.
  std::size_t calls() const;
  // The number of streams that were opened and have been destroyed, whether they were read to the end or dropped.
  std::size_t closed() const;

 private:
  struct State;
  // The script of the next call.
  Result<std::shared_ptr<const FakeCallScript>> next_script(const AdapterCall& call);
  std::shared_ptr<State> state_;
};

std::shared_ptr<FakeAdapter> fake(FakeScript script, FakeOptions options = {});

// Makes a fake that asks a function for the script of each call. The function accepts a `const AdapterCall&` or a
// `const Request&` and returns a FakeCallScript; see FakeFunction.
template <class Answer>
  requires std::is_invocable_r_v<FakeCallScript, Answer&, const AdapterCall&>
std::shared_ptr<FakeAdapter> fake(Answer answer, FakeOptions options = {}) {
  return std::make_shared<FakeAdapter>(FakeFunction(std::move(answer)), std::move(options));
}
template <class Answer>
  requires(std::is_invocable_r_v<FakeCallScript, Answer&, const Request&> &&
           !std::is_invocable_v<Answer&, const AdapterCall&>)
std::shared_ptr<FakeAdapter> fake(Answer answer, FakeOptions options = {}) {
  return fake([answer = std::move(answer)](const AdapterCall& call) mutable { return answer(call.request); },
              std::move(options));
}

}  // namespace allm
