// A stream that fails at once: its error is its only event.
#pragma once

#include <optional>
#include <utility>

#include "allm/stream.hpp"

namespace allm {

class FailedSource : public EventSource {
 public:
  explicit FailedSource(Error error) : error_(std::move(error)) {}
  Poll poll(const Waker&) override {
    if (!error_) return Poll::end();
    return Event(ErrorEvent{*std::exchange(error_, std::nullopt)});
  }

 private:
  std::optional<Error> error_;
};

}  // namespace allm
