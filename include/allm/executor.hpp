// Executors run tool calls; encoders write their results for the model. Implement one to run tools elsewhere, or to
// write results in another form; allm/conformance.hpp checks it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "allm/tool.hpp"

namespace allm {

// Runs tool calls. execute() is called on pool threads, for several calls at once. It gets only calls whose tool exists
// and whose arguments passed the schema check (if `validate_arguments` is set). If a run has an executor, tools in the
// worker lane and commands do not run in their lanes: the executor gets their calls, too. allm enforces the deadline of
// a call; an execute() that is past the deadline may outlive the run, as a handler may (allm/handler.hpp). Engines and
// runs share ownership of an executor.
class ToolExecutor {
 public:
  virtual ~ToolExecutor() = default;
  // Answers through `done`, before it returns or later. If it throws, the call fails with ToolError `handler_raised`.
  virtual void execute(const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) = 0;
};

// Handlers by the names of their tools.
using Handlers = std::map<std::string, Handler, std::less<>>;

// Calls the tool's handler. If the tool has no handler (for example, because it was read from JSON), calls the handler
// that was given to the constructor under the name of the tool:
//   DefaultToolExecutor executor({{"get_weather", get_weather}});
// If there is neither, the call fails with ToolError `not_found`. If a handler throws, the call fails with ToolError
// `handler_raised`, whose cause() is the exception. execute() does not throw, so that an executor which wraps this one
// gets an outcome for every call. Safe to call from any thread.
class DefaultToolExecutor : public ToolExecutor {
 public:
  DefaultToolExecutor() = default;
  explicit DefaultToolExecutor(Handlers handlers);
  void execute(const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) override;

 private:
  Handlers handlers_;
};

// Executes one call and blocks until it is answered. There is no deadline. For tests of executors and handlers, with a
// context from ToolContext::for_testing. As in a run, the outcome is ToolError `handler_raised` if the executor throws,
// and ToolError `invalid_return` if the completion is destroyed without an answer.
ToolOutcome execute_and_wait(ToolExecutor& executor, const Tool& tool, const Json& arguments,
                             const ToolContext& context);

// Writes results as the content of tool messages. Called on the consumer's thread; runs on several threads may share an
// encoder.
class ToolResultEncoder {
 public:
  virtual ~ToolResultEncoder() = default;
  // If it returns an error or throws, the call fails with ToolError `encoding_failed`.
  virtual Result<std::string> encode(const Json& value) = 0;
  // Must not fail: if it cannot write the failure, it returns a text that says so. If it throws, JsonToolResultEncoder
  // writes the failure.
  virtual std::string encode_failure(const ToolFailure& failure) = 0;
};

// Writes a string as it is, and any other value as compact JSON. A failure is {"error": …}; a failure that allm made
// also has its reason: {"error": "…", "reason": "timeout"}.
class JsonToolResultEncoder : public ToolResultEncoder {
 public:
  Result<std::string> encode(const Json& value) override;
  std::string encode_failure(const ToolFailure& failure) override;
};

}  // namespace allm
