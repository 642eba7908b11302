#include "schema/compile_errors.hpp"

#include <utility>

namespace allm::schema_detail {
namespace {

constexpr std::size_t kMaxReported = 16;

}  // namespace

void CompileErrors::add(const Node& node, Path below, std::string_view reason, const std::string& message) {
  if (++count_ > kMaxReported) return;
  Path path = path_of(node);
  path.insert(path.end(), std::make_move_iterator(below.begin()), std::make_move_iterator(below.end()));
  if (count_ == 1) {
    std::string pointer;
    for (const PathStep& step : path) append_pointer(pointer, step);
    first_message_ = (pointer.empty() ? "invalid schema" : "invalid schema at " + pointer) + ": " + message;
  }
  errors_.push_back({.path = std::move(path), .reason = std::string(reason)});
}

Error CompileErrors::to_error() const {
  std::string message = first_message_;
  if (count_ == 2) message += " (and one more error)";
  if (count_ > 2) message += " (and " + std::to_string(count_ - 1) + " more errors)";
  return {ValidationError{.reason = ValidationError::Reason::invalid_schema, .errors = errors_}, std::move(message)};
}

}  // namespace allm::schema_detail
