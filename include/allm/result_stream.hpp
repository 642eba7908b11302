// Streams with a result: the return types of stream_generate, stream_step and stream.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "allm/collector.hpp"
#include "allm/result.hpp"
#include "allm/stream.hpp"

namespace allm {

// The events of a run, and its result. Movable, single pass, used by one thread at a time. A program that needs only
// the events can convert it to an EventStream. It stores no events, only the latest error and the result.
template <class T>
class ResultStream : public PulledStream<ResultStream<T>> {
 public:
  explicit ResultStream(EventStream events) : events_(std::move(events)) {}

  Poll poll(const Waker& waker);
  // Cancels the run and frees its resources without waiting; the stream is then at its end.
  void drop() { events_.drop(); }

  // Reads the remaining events and returns what the folded function (chat, step) returns, whichever events were read
  // before. Blocks. Call it once. Fails with StreamError `cancelled` if the stream was dropped before its end.
  Result<T> finish();

  operator EventStream() && { return std::move(events_); }

 private:
  EventStream events_;
  std::optional<Error> error_;
  std::shared_ptr<const T> result_;
};

using StepStream = ResultStream<StepResult>;
using ChatStream = ResultStream<ChatResult>;

// The ResultStream of one model call, with the same functions. It collects the message while the events are read.
template <>
class ResultStream<Response> : public PulledStream<ResultStream<Response>> {
 public:
  // `request_id` is that of the run. The response needs it because an interrupted message carries no request id.
  explicit ResultStream(EventStream events, std::string request_id = {})
      : events_(std::move(events)), request_id_(std::move(request_id)) {}

  Poll poll(const Waker& waker);
  void drop() { events_.drop(); }
  Result<Response> finish();

  operator EventStream() && { return std::move(events_); }

 private:
  EventStream events_;
  StreamCollector collector_;
  std::string request_id_;
};

using ResponseStream = ResultStream<Response>;

}  // namespace allm
