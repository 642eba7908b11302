// Usage of model calls that belong to a run but are not steps of it: those of prepare_step and of nested agents.
#pragma once

#include <memory>
#include <utility>

#include "allm/response.hpp"

namespace allm {

// Shared by the passes of a run, and with nested runs, whose SideUsage points to their parent's. Only the consumer's
// thread uses it.
class SideUsage {
 public:
  // Usage that is added here is added to `parent`, too.
  explicit SideUsage(std::shared_ptr<SideUsage> parent = nullptr) : parent_(std::move(parent)) {}

  void add(const Usage& usage) {
    usage_ += usage;
    if (parent_) parent_->add(usage);
  }
  // The usage that was added since the last take().
  Usage take() { return std::exchange(usage_, {}); }

 private:
  std::shared_ptr<SideUsage> parent_;
  Usage usage_;
};

}  // namespace allm
