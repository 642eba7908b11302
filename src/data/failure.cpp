#include "data/failure.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "data/utf8.hpp"

namespace allm::codec {

bool Failure::fail(std::string_view reason, std::string message) {
  reason_ = reason;
  message_ = std::move(message);
  reversed_path_.clear();
  return false;
}

bool Failure::at(std::string_view key) {
  reversed_path_.emplace_back(printable(key));
  return false;
}

bool Failure::at(std::size_t index) {
  reversed_path_.emplace_back(static_cast<std::int64_t>(index));
  return false;
}

Error Failure::error() const {
  constexpr auto kReason = ValidationError::Reason::invalid_request;
  if (reversed_path_.empty() || reason_ == "too_deep") {
    std::string_view root = "json";
    if (reason_ == "missing_type_tag" || reason_ == "unknown_type_tag") root = "format";
    if (reason_ == "malformed_struct") root = "data";
    return validation_error(kReason, {std::string(root)}, reason_, message_);
  }
  Path path(reversed_path_.rbegin(), reversed_path_.rend());
  std::string message = fmt::format("{}: {}", to_string(path), message_);
  return validation_error(kReason, std::move(path), reason_, std::move(message));
}

std::string printable(std::string_view text) {
  std::string result(text);
  if (is_utf8(text)) return result;
  std::ranges::replace_if(result, [](char c) { return (static_cast<unsigned char>(c) & 0x80U) != 0; }, '?');
  return result;
}

}  // namespace allm::codec
