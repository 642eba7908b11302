#include "lanes/worker_wire.hpp"

#include <atomic>
#include <random>
#include <utility>

#include "allm/serialize.hpp"
#include "allm/validate.hpp"

#include "process/frames.hpp"

namespace allm {
namespace {

bool is_worker_message_kind(unsigned char byte) {
  switch (static_cast<WorkerMessageKind>(byte)) {
    case WorkerMessageKind::call:
    case WorkerMessageKind::progress:
    case WorkerMessageKind::answer:
    case WorkerMessageKind::last_answer:
    case WorkerMessageKind::out_of_memory:
      return true;
  }
  return false;
}

// A permutation of the 64-bit numbers (splitmix64), so different counts give different ids.
std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

std::uint64_t random_start() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

WorkerRequest request_from(const Json& message) {
  WorkerRequest request;
  request.arguments = message.value("arguments", Json(nullptr));
  request.entry = message.value("entry", std::string());
  request.data = message.value("data", Json(nullptr));
  request.context = message.value("context", Json::object());
  if (message.contains("session_id")) request.session_id = message["session_id"].get<std::string>();
  request.request_id = message.at("request_id").get<std::string>();
  request.idempotency_key = message.value("key", std::string());
  if (message.contains("traceparent")) {
    if (const auto trace = parse_traceparent(message["traceparent"].get_ref<const std::string&>())) {
      request.trace = *trace;
    }
  }
  request.deadline =
      std::chrono::steady_clock::time_point(std::chrono::nanoseconds(message.at("deadline_ns").get<std::int64_t>()));
  if (message.contains("cpu_s")) request.cpu_time = std::chrono::seconds(message["cpu_s"].get<std::int64_t>());
  request.max_output = message.at("output").get<std::uint64_t>();
  return request;
}

Error invalid_call(const std::string& reason) {
  return validation_error(ValidationError::Reason::invalid_request, {"call"}, "invalid_value",
                          "a worker received a call that it cannot read: " + reason);
}

}  // namespace

std::uint64_t new_call_id() {
  static std::atomic<std::uint64_t> next{random_start()};
  std::uint64_t id = 0;
  while (id == 0) id = mixed(next.fetch_add(1, std::memory_order_relaxed));
  return id;
}

std::string make_worker_frame(WorkerMessageKind kind, std::uint64_t call, std::string_view text) {
  std::string header(1, static_cast<char>(kind));
  for (unsigned shift = 0; shift < 64; shift += 8) header.push_back(static_cast<char>((call >> shift) & 0xffU));
  return make_frame(header, text);
}

std::optional<WorkerMessage> read_worker_message(std::string_view frame_text) {
  if (frame_text.size() < kWorkerHeaderBytes) return std::nullopt;
  const auto kind = static_cast<unsigned char>(frame_text[0]);
  if (!is_worker_message_kind(kind)) return std::nullopt;
  WorkerMessage message{.kind = static_cast<WorkerMessageKind>(kind), .text = frame_text.substr(kWorkerHeaderBytes)};
  for (unsigned i = 0; i < 8; ++i) {
    message.call |= static_cast<std::uint64_t>(static_cast<unsigned char>(frame_text[1 + i])) << (8 * i);
  }
  return message;
}

Result<std::string> write_worker_request(const std::string& entry, const Json& data, const ToolLimits& limits,
                                         const Json& arguments, const ToolContext& context) {
  Json message = {{"call", to_json_value(context.tool_call())}};
  if (arguments != context.tool_call().arguments) message["arguments"] = arguments;
  if (!entry.empty()) message["entry"] = entry;
  if (!data.is_null()) message["data"] = data;
  if (!context.context().empty()) message["context"] = context.context();
  if (context.session_id()) message["session_id"] = *context.session_id();
  message["request_id"] = context.request_id();
  if (!context.idempotency_key().empty()) message["key"] = context.idempotency_key();
  if (auto traceparent = context.traceparent()) message["traceparent"] = *std::move(traceparent);
  message["deadline_ns"] = std::chrono::nanoseconds(context.deadline().time_since_epoch()).count();
  if (limits.cpu_time) message["cpu_s"] = limits.cpu_time->count();
  message["output"] = limits.output;
  return write_json(message);
}

Result<WorkerRequest> read_worker_request(std::string_view text) {
  const Result<Json> message = parse_json(text);
  if (!message) return std::unexpected(message.error());
  if (!message->is_object() || !message->contains("call")) return std::unexpected(invalid_call("it is something else"));
  Result<ToolCall> call = from_json_value<ToolCall>((*message)["call"]);
  if (!call) return std::unexpected(call.error());
  try {
    WorkerRequest request = request_from(*message);
    request.call = *std::move(call);
    if (!message->contains("arguments")) request.arguments = request.call.arguments;
    return request;
  } catch (const Json::exception& exception) {  // a member is missing or has another type
    return std::unexpected(invalid_call(exception.what()));
  }
}

}  // namespace allm
