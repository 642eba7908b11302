// Executors run tool calls; encoders write their results for the model. Implement one to run tools elsewhere, or to
// write results in another form; allm/conformance.hpp checks it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "allm/tool.hpp"

namespace allm {

// Runs tool calls. Gets the calls whose tool exists and whose arguments have been checked, on pool threads, several at
// once. With an executor, tools in the worker lane and commands do not run in their lanes: the executor gets their
// calls too. The runner enforces the deadline; an execute() that is past it may outlive the run, as a handler may
// (allm/handler.hpp). Engines and runs share ownership of an executor.
class ToolExecutor {
 public:
  virtual ~ToolExecutor() = default;
  // Answers through `done`, now or later. An exception becomes ToolError `handler_raised`.
  virtual void execute(const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) = 0;
};

// Handlers by the names of their tools.
using Handlers = std::map<std::string, Handler, std::less<>>;

// Calls the tool's handler. A tool without one, which is pure data, gets the handler of its name:
//   DefaultToolExecutor executor({{"get_weather", get_weather}});
// A tool's own handler is used first. A call of a tool that has neither fails with ToolError `not_found`. If a handler
// throws, the call fails with ToolError `handler_raised`, whose cause() is the exception; execute() does not throw, so
// that an executor which decorates this one sees an outcome for every call. Safe to call from any thread.
class DefaultToolExecutor : public ToolExecutor {
 public:
  DefaultToolExecutor() = default;
  explicit DefaultToolExecutor(Handlers handlers);
  void execute(const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) override;

 private:
  Handlers handlers_;
};

// Executes one call and blocks until it is answered, without a deadline: for tests of executors and handlers, with a
// context of ToolContext::for_testing. An exception of the executor becomes ToolError `handler_raised`, and a
// completion that is dropped without an answer ToolError `invalid_return`, as in a run.
ToolOutcome execute_and_wait(ToolExecutor& executor, const Tool& tool, const Json& arguments,
                             const ToolContext& context);

// Writes results as the content of tool messages. Called on the consumer's thread; runs on several threads may share an
// encoder.
class ToolResultEncoder {
 public:
  virtual ~ToolResultEncoder() = default;
  // An error or an exception becomes ToolError `encoding_failed`.
  virtual Result<std::string> encode(const Json& value) = 0;
  // Must not fail: it describes a value that it cannot write. If it throws, JsonToolResultEncoder writes the failure.
  virtual std::string encode_failure(const ToolFailure& failure) = 0;
};

// Text as it is, anything else as compact JSON. Failures are {"error": …}; those made by the
// runtime add their reason: {"error": "…", "reason": "timeout"}.
class JsonToolResultEncoder : public ToolResultEncoder {
 public:
  Result<std::string> encode(const Json& value) override;
  std::string encode_failure(const ToolFailure& failure) override;
};

}  // namespace allm
