// The source of a single step that is not part of a loop; owns the step's model call. One thread at a time.
#pragma once

#include <memory>
#include <utility>

#include "allm/stream.hpp"

#include "chat/prepared_call.hpp"
#include "chat/step_source.hpp"

namespace allm {

class LoneStepSource : public EventSource {
 public:
  LoneStepSource(std::shared_ptr<const Run> run, Thread thread)
      : run_(std::move(run)), call_(*run_), step_(run_, call_, std::move(thread), 0, StepSource::Place::alone) {}
  Poll poll(const Waker& waker) override { return step_.poll(waker); }

 private:
  std::shared_ptr<const Run> run_;
  PreparedCall call_;
  StepSource step_;
};

}  // namespace allm
