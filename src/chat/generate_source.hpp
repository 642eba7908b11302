// The source of a single model call. One thread at a time.
#pragma once

#include <memory>
#include <optional>

#include "allm/collector.hpp"
#include "allm/stream.hpp"

#include "chat/prepared_call.hpp"
#include "engine/model_call.hpp"
#include "engine/run.hpp"

namespace allm {

class GenerateSource : public EventSource {
 public:
  explicit GenerateSource(std::shared_ptr<const Run> run);
  Poll poll(const Waker& waker) override;

  const PreparedCall& call() const { return call_; }

 private:
  void observe(const Poll& polled);

  std::shared_ptr<const Run> run_;
  PreparedCall call_;
  std::optional<ModelCall> model_;
  std::optional<StreamCollector> collector_;  // only with a telemetry sink
  bool done_ = false;
};

}  // namespace allm
