// Messages between the program and a worker. A message is one frame: its kind (one byte), the id of its call (eight
// bytes, little-endian) and a text.
//
//   to the worker    call          {"call": …, "arguments": …, "entry": …, "data": …, "context": …, "session_id": …,
//                                   "request_id": …, "key": …, "traceparent": …, "deadline_ns": …, "cpu_s": …,
//                                   "output": …}
//   to the program   progress      any JSON value; any number of them before the answer
//                    answer        an outcome as in outcome_json.hpp
//                    last_answer   the same, from a worker that accepts no other call
//                    out_of_memory no text; the worker ends because it has no memory left
//
// The program chooses an id for each call. It ignores a message whose id is not that of the call that the worker runs:
// such a message comes from a thread that an earlier call left, or is forged. The worker is then replaced. The ids are
// not a secret from the code in the worker, which can answer for the call that it runs, and only for that one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "allm/tool.hpp"
#include "allm/trace.hpp"

namespace allm {

enum class WorkerMessageKind : std::uint8_t {
  call = 'c',
  progress = 'p',
  answer = 'a',
  last_answer = 'l',
  out_of_memory = 'm',
};

inline constexpr std::size_t kWorkerHeaderBytes = 9;

// The longest call that is sent to a worker, and the longest that a worker accepts.
inline constexpr std::size_t kMaxCallBytes = std::size_t{64} << 20U;

// An id that no call of this process had before, and that cannot be guessed. Never 0.
std::uint64_t new_call_id();

// The frame of a message.
std::string make_worker_frame(WorkerMessageKind kind, std::uint64_t call, std::string_view text);

struct WorkerMessage {
  WorkerMessageKind kind = WorkerMessageKind::call;
  std::uint64_t call = 0;
  std::string_view text = {};  // of the frame that was read
};
// The message in the text of a frame; nullopt if it has no header or an unknown kind.
std::optional<WorkerMessage> read_worker_message(std::string_view frame_text);

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
  std::string idempotency_key = {};
  TraceParent trace = {};                               // the span of the call, if there is one
  std::chrono::steady_clock::time_point deadline = {};  // one clock for all processes
  std::optional<std::chrono::seconds> cpu_time = std::nullopt;
  std::uint64_t max_output = 0;
};
// Fails for any text that write_worker_request() does not write.
Result<WorkerRequest> read_worker_request(std::string_view text);

}  // namespace allm
