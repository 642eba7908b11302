#include "schema/problems.hpp"

#include <utility>

namespace allm::schema_detail {
namespace {

constexpr std::size_t kMaxProblems = 16;

}  // namespace

void Problems::add(const Node& node, Path below, std::string_view reason, const std::string& message) {
  if (++count_ > kMaxProblems) return;
  Path path = path_of(node);
  path.insert(path.end(), std::make_move_iterator(below.begin()), std::make_move_iterator(below.end()));
  if (count_ == 1) {
    std::string pointer;
    for (const PathStep& step : path) append_pointer(pointer, step);
    first_message_ = (pointer.empty() ? "invalid schema" : "invalid schema at " + pointer) + ": " + message;
  }
  errors_.push_back({.path = std::move(path), .reason = std::string(reason)});
}

Error Problems::to_error() const {
  std::string message = first_message_;
  if (count_ == 2) message += " (and one more problem)";
  if (count_ > 2) message += " (and " + std::to_string(count_ - 1) + " more problems)";
  return {ValidationError{.reason = ValidationError::Reason::invalid_schema, .errors = errors_}, std::move(message)};
}

}  // namespace allm::schema_detail
