// Tells telemetry of a whole run.
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
  Span span_;  // ends after what it contains
  std::unique_ptr<EventSource> inner_;
  bool started_ = false;
  std::optional<Error> error_;
};

}  // namespace allm
