#include "allm/approval.hpp"

namespace allm {

Approval Approval::allow_with(Json arguments) {
  Approval approval(Kind::allow);
  approval.arguments_ = std::move(arguments);
  return approval;
}

Approval Approval::deny(std::string reason) {
  Approval approval(Kind::deny);
  approval.reason_ = std::move(reason);
  return approval;
}

}  // namespace allm
