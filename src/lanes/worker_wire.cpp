#include "lanes/worker_wire.hpp"

#include <utility>

#include "allm/serialize.hpp"

namespace allm {

Result<std::string> write_worker_request(const std::string& entry, const Json& data, const ToolLimits& limits,
                                         const Json& arguments, const ToolContext& context) {
  Json message = {{"call", to_json_value(context.tool_call())}};
  if (arguments != context.tool_call().arguments) message["arguments"] = arguments;
  if (!entry.empty()) message["entry"] = entry;
  if (!data.is_null()) message["data"] = data;
  if (!context.context().empty()) message["context"] = context.context();
  if (context.session_id()) message["session_id"] = *context.session_id();
  message["request_id"] = context.request_id();
  if (auto traceparent = context.traceparent()) message["traceparent"] = *std::move(traceparent);
  message["deadline_ns"] = std::chrono::nanoseconds(context.deadline().time_since_epoch()).count();
  if (limits.cpu_time) message["cpu_s"] = limits.cpu_time->count();
  message["output"] = limits.output;
  return write_json(message);
}

Result<WorkerRequest> read_worker_request(const std::string& text) {
  Result<Json> message = parse_json(text);
  if (!message) return std::unexpected(message.error());
  WorkerRequest request;
  Result<ToolCall> call = from_json_value<ToolCall>(message->at("call"));
  if (!call) return std::unexpected(call.error());
  request.call = *std::move(call);
  request.arguments = message->value("arguments", request.call.arguments);
  request.entry = message->value("entry", std::string());
  request.data = message->value("data", Json(nullptr));
  request.context = message->value("context", Json::object());
  if (message->contains("session_id")) request.session_id = (*message)["session_id"].get<std::string>();
  request.request_id = message->at("request_id").get<std::string>();
  if (message->contains("traceparent")) {
    if (const auto trace = parse_traceparent((*message)["traceparent"].get_ref<const std::string&>())) {
      request.trace = *trace;
    }
  }
  request.deadline =
      std::chrono::steady_clock::time_point(std::chrono::nanoseconds(message->at("deadline_ns").get<std::int64_t>()));
  if (message->contains("cpu_s")) request.cpu_time = std::chrono::seconds((*message)["cpu_s"].get<std::int64_t>());
  request.max_output = message->at("output").get<std::uint64_t>();
  return request;
}

}  // namespace allm
