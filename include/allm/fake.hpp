// The scripted model: says what a script tells it to. For tests, examples and trying things out
// without a key.
//
//   auto fake = allm::fake({{allm::fake_tool_call("c0", "weather", {{"city", "Rome"}}),
//                            allm::fake_finish(allm::FinishReason::tool_calls)},
//                           {allm::fake_text("Sunny."), allm::fake_finish(allm::FinishReason::stop)}});
//   allm::Engine engine({.adapter = fake, .tools = {weather}});
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "allm/adapter.hpp"

namespace allm {

struct FakeText {
  std::string text;
};
// Reasoning before or between what the model says.
struct FakeReasoning {
  std::string text;
};
struct FakeToolCall {
  std::string id;
  std::string name;
  Json arguments = empty_object();
  // The text the model sent. If given, the arguments are what it says, or {} if it is no object.
  std::optional<std::string> raw_arguments = std::nullopt;
};
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
struct FakeFinish {
  FinishReason reason;
};
// The stream breaks with this error.
struct FakeError {
  Error error;
};
// Waits, on the runtime's timer, before the next entry.
struct FakeDelay {
  std::chrono::milliseconds delay;
};
// As the first entry: the call itself fails.
struct FakePreflightError {
  Error error;
};
using FakeEntry = std::variant<FakeText, FakeReasoning, FakeToolCall, FakeToolCallDelta, FakeUsage, FakeRawChunk,
                               FakeFinish, FakeError, FakeDelay, FakePreflightError>;

FakeEntry fake_text(std::string text);
FakeEntry fake_reasoning(std::string text);
FakeEntry fake_tool_call(std::string id, std::string name, Json arguments = empty_object());
FakeEntry fake_finish(FinishReason reason);
FakeEntry fake_usage(Usage usage);
FakeEntry fake_delay(std::chrono::milliseconds delay);
// A mid-stream and a preflight AdapterError.
FakeEntry fake_error(AdapterError::Reason reason);
FakeEntry fake_preflight_error(AdapterError::Reason reason);

// One call's entries; without a finish the message closes with none.
using FakeCallScript = std::vector<FakeEntry>;
using FakeScript = std::vector<FakeCallScript>;  // one inner script per model call

// From JSON as in scenario files (docs/scenario-format.md). Fails with ValidationError
// `invalid_scenario` and the path of what is wrong.
Result<FakeScript> fake_script_from_json(const Json& json);

struct FakeOptions {
  std::optional<Usage> usage = std::nullopt;  // reported by every call, whatever its script says
  bool record = false;                        // keep the requests, for requests()
};

// Safe to use from any thread. The cursor belongs to the object: two adapters made from one script
// never share it, two engines with one adapter do. The script itself is shared and never copied.
class FakeAdapter : public Adapter {
 public:
  explicit FakeAdapter(std::shared_ptr<const FakeScript> script, FakeOptions options = {});

  std::string_view provider() const override { return "fake"; }
  // Takes the next inner script. When there is none left the call fails with AdapterError
  // `no_scripted_response`.
  Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) override;

  // The requests received so far, if they are recorded.
  std::vector<AdapterCall> requests() const;
  // Calls opened so far.
  std::size_t calls() const;
  // Streams that were opened and are gone: each counts once, read to its end or dropped.
  std::size_t closed() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

std::shared_ptr<FakeAdapter> fake(FakeScript script, FakeOptions options = {});

}  // namespace allm
