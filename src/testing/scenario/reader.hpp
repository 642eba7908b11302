// Typed access to the members of a JSON object in a scenario file. Reports every error in them. One thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "allm/json.hpp"

#include "data/path.hpp"
#include "testing/scenario/scenario_errors.hpp"

namespace allm::scenario {

// The most milliseconds that a scenario may contain anywhere: one day, so that no sum overflows.
inline constexpr std::int64_t kMaxMilliseconds = 24LL * 60 * 60 * 1000;

// The members of one object. A member of the wrong type is reported and then treated as missing.
class Reader {
 public:
  // Reports a value that is not an object, and keys that are not in `known`. `value` and `errors` must outlive the
  // reader.
  Reader(const Json& value, Path path, std::initializer_list<std::string_view> known, ScenarioErrors& errors);

  const Path& path() const { return path_; }
  Path path(PathStep step) const { return extended(path_, std::move(step)); }
  ScenarioErrors& errors() const { return *errors_; }

  // The member, or null.
  const Json* find(std::string_view key) const;
  // As find, but reports a missing member.
  const Json* require(std::string_view key) const;

  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::string> required_text(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  // A whole number from 0 to `max`.
  std::optional<std::int64_t> count(std::string_view key, std::int64_t max) const;
  const Json* object(std::string_view key) const;
  const Json* array(std::string_view key) const;

  // Reports that the member has the wrong type.
  void wrong_type(std::string_view key, std::string_view expected) const;

 private:
  const Json* value_;  // null if the value is not an object
  Path path_;
  ScenarioErrors* errors_;
};

}  // namespace allm::scenario
