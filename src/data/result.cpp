#include "allm/result.hpp"

namespace allm {

std::string ChatResult::text() const {
  if (!final_response.has_value()) return {};
  return final_response->text().value_or(std::string());
}

}  // namespace allm
