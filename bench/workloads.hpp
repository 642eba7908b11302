// Scripts and tools of the workloads in docs/benchmarks.md, built once outside the measured loops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace allm::bench {

inline Tool echo_tool() {
  return tool({.name = "echo", .handler = [](const Json& arguments) { return ok(arguments); }});
}

// The first model call asks for the tool, the second answers.
inline std::shared_ptr<const FakeScript> chat_script() {
  return std::make_shared<const FakeScript>(
      FakeScript{{fake_tool_call("c0", "echo", {{"x", 1}}), fake_finish(FinishReason::tool_calls)},
                 {fake_text("done"), fake_finish(FinishReason::stop)}});
}

inline std::shared_ptr<const FakeScript> delta_script(std::size_t deltas) {
  FakeCallScript call(deltas, fake_text("token "));
  call.push_back(fake_finish(FinishReason::stop));
  return std::make_shared<const FakeScript>(FakeScript{std::move(call)});
}

// `steps` tool calls, then the answer.
inline std::shared_ptr<const FakeScript> steps_script(std::size_t steps) {
  FakeScript script;
  for (std::size_t i = 0; i < steps; ++i) {
    script.push_back(
        {fake_tool_call("c" + std::to_string(i), "echo", {{"x", 1}}), fake_finish(FinishReason::tool_calls)});
  }
  script.push_back({fake_text("done"), fake_finish(FinishReason::stop)});
  return std::make_shared<const FakeScript>(std::move(script));
}

}  // namespace allm::bench
