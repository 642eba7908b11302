// Reading the parts of a scenario file: typed access to the members of a JSON object, with every
// departure from the format reported. One thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "allm/json.hpp"

#include "data/path.hpp"
#include "testing/scenario/problems.hpp"

namespace allm::scenario {

// Milliseconds that a scenario may name anywhere: a day, far from any overflow.
inline constexpr std::int64_t kMaxMilliseconds = 24LL * 60 * 60 * 1000;

// The members of one object. A member that is there with the wrong type is reported and then counts
// as not there.
class Reader {
 public:
  // Reports a value that is no object, and keys that are not in `known`. The value must outlive the
  // reader.
  Reader(const Json& value, Path path, std::initializer_list<std::string_view> known, Problems& problems);

  const Path& path() const { return path_; }
  Path path(PathStep step) const { return extended(path_, std::move(step)); }
  Problems& problems() const { return *problems_; }

  // The member, or null.
  const Json* find(std::string_view key) const;
  // As find, but reports a member that is missing.
  const Json* require(std::string_view key) const;

  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::string> required_text(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  // A whole number from 0 to `max`.
  std::optional<std::int64_t> count(std::string_view key, std::int64_t max) const;
  const Json* object(std::string_view key) const;
  const Json* array(std::string_view key) const;

  // Reports the member as being of a wrong type.
  void wrong_type(std::string_view key, std::string_view expected) const;

 private:
  const Json* value_;  // null if it is no object
  Path path_;
  Problems* problems_;
};

}  // namespace allm::scenario
