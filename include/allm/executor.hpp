// How tool calls are executed and their results written. Implement these to run tools elsewhere or
// to word results in your own way.
#pragma once

#include <memory>
#include <string>

#include "allm/tool.hpp"

namespace allm {

// Runs one call whose tool exists and whose arguments fit. Called on a worker thread, several calls
// at once. The runner keeps the deadline, whatever the executor does.
class ToolExecutor {
 public:
  virtual ~ToolExecutor() = default;
  // Answers through `done`, now or later. An exception becomes ToolError `handler_raised`.
  virtual void execute(const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) = 0;
};

// Calls the tool's handler; a tool without one fails with ToolError `not_found`.
class DefaultToolExecutor : public ToolExecutor {
 public:
  void execute(const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) override;
};

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
