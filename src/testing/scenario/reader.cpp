#include "testing/scenario/reader.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/path.hpp"

namespace allm::scenario {

Reader::Reader(const Json& value, Path path, std::initializer_list<std::string_view> known, ScenarioErrors& errors)
    : value_(value.is_object() ? &value : nullptr), path_(std::move(path)), errors_(&errors) {
  if (value_ == nullptr) {
    errors.add(path_, "invalid_type", "expected an object");
    return;
  }
  for (const auto& [key, member] : value.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    errors.add(extended(path_, key), "unknown_key",
               known.size() == 0 ? std::string("unknown key; none is allowed here")
                                 : fmt::format("unknown key; known are {}", fmt::join(known, ", ")));
  }
}

const Json* Reader::find(std::string_view key) const {
  if (value_ == nullptr) return nullptr;
  const auto found = value_->find(std::string(key));
  return found == value_->end() ? nullptr : &*found;
}

const Json* Reader::require(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr && value_ != nullptr) errors_->add(path(std::string(key)), "required", "missing");
  return found;
}

void Reader::wrong_type(std::string_view key, std::string_view expected) const {
  errors_->add(path(std::string(key)), "invalid_type", fmt::format("expected {}", expected));
}

std::optional<std::string> Reader::text(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  wrong_type(key, "a text");
  return std::nullopt;
}

std::optional<std::string> Reader::required_text(std::string_view key) const {
  return require(key) == nullptr ? std::nullopt : text(key);
}

std::optional<bool> Reader::boolean(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>();
  wrong_type(key, "true or false");
  return std::nullopt;
}

std::optional<std::int64_t> Reader::count(std::string_view key, std::int64_t max) const {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (found->is_number_integer() && *found >= 0 && *found <= max) return found->get<std::int64_t>();
  wrong_type(key, fmt::format("a whole number from 0 to {}", max));
  return std::nullopt;
}

const Json* Reader::object(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr || found->is_object()) return found;
  wrong_type(key, "an object");
  return nullptr;
}

const Json* Reader::array(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr || found->is_array()) return found;
  wrong_type(key, "an array");
  return nullptr;
}

}  // namespace allm::scenario
