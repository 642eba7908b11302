// Messages between the program and a worker: frames of JSON.
//
//   to the worker    {"call": …, "arguments": …, "entry": …, "data": …, "context": …, "session_id": …,
//                     "request_id": …, "traceparent": …, "deadline_ns": …, "cpu_s": …, "output": …}
//   to the program   {"progress": …} any number of times, then an outcome as in outcome_json.hpp;
//                    {"last": true} before the answer of a worker that accepts no other call;
//                    {"out_of_memory": true} before a worker ends because it has no memory left
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "allm/tool.hpp"
#include "allm/trace.hpp"

namespace allm {

Result<std::string> write_worker_request(const std::string& entry, const Json& data, const ToolLimits& limits,
                                         const Json& arguments, const ToolContext& context);

struct WorkerRequest {
  ToolCall call = {};
  Json arguments = empty_object();
  std::string entry = {};  // empty for the tool's own handler
  Json data = null_json();
  Json context = empty_object();
  std::optional<std::string> session_id = std::nullopt;
  std::string request_id = {};
  TraceParent trace = {};                               // the span of the call, if there is one
  std::chrono::steady_clock::time_point deadline = {};  // one clock for all processes
  std::optional<std::chrono::seconds> cpu_time = std::nullopt;
  std::uint64_t max_output = 0;
};
Result<WorkerRequest> read_worker_request(const std::string& text);

}  // namespace allm
