// Reports a whole run to telemetry. One thread at a time.
#pragma once

#include <memory>
#include <optional>

#include "allm/stream.hpp"

#include "engine/span.hpp"

namespace allm {

class ChatSpanSource : public EventSource {
 public:
  ChatSpanSource(std::shared_ptr<const Run> run, SpanIds ids, std::unique_ptr<EventSource> inner);
  Poll poll(const Waker& waker) override;

 private:
  std::shared_ptr<const Run> run_;
  SpanIds ids_;
  Span span_;  // declared before `inner_`, so that it ends after the inner spans
  std::unique_ptr<EventSource> inner_;
  bool started_ = false;
  std::optional<Error> error_;
};

}  // namespace allm
