// How tool calls are executed and their results written. Implement these to run tools elsewhere or
// to word results in your own way.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "allm/tool.hpp"

namespace allm {

// Runs one call whose tool exists and whose arguments fit. Called on a worker thread, several calls
// at once. The runner keeps the deadline, whatever the executor does; an execute() that is past it may outlive the run,
// as a handler may (allm/handler.hpp).
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
// The tool's own handler counts before that of its name. A tool that has neither fails with ToolError `not_found`. A
// handler that throws is answered as ToolError `handler_raised`, with the exception as the error's cause(): nothing is
// thrown, so that an executor which decorates this one sees an outcome for every call. Safe to call from any thread.
class DefaultToolExecutor : public ToolExecutor {
 public:
  DefaultToolExecutor() = default;
  explicit DefaultToolExecutor(Handlers handlers);
  void execute(const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) override;

 private:
  Handlers handlers_;
};

// Executes one call and waits for its answer, however long that takes: for tests of executors and handlers, with a
// context of ToolContext::for_testing. An exception of the executor becomes ToolError `handler_raised`, and a
// completion that is dropped without an answer ToolError `invalid_return`, as in a run.
ToolOutcome execute_and_wait(ToolExecutor& executor, const Tool& tool, const Json& arguments,
                             const ToolContext& context);

// Writes results as the content of tool messages. Called on the consumer's thread.
class ToolResultEncoder {
 public:
  virtual ~ToolResultEncoder() = default;
  // Any error returned here becomes ToolError `encoding_failed`.
  virtual Result<std::string> encode(const Json& value) = 0;
  // Must not fail: what it cannot carry it describes.
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
