// The error of a reader or writer of JSON.
//
// Readers and writers recurse through a value and return true or false. The innermost function that
// fails records the reason; each level that it returns through adds its step of the path. So a path
// costs nothing until there is an error. One operation owns one Failure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "allm/error.hpp"

namespace allm::codec {

class Failure {
 public:
  // Records the error and drops an earlier one. Always returns false, for the caller to return.
  bool fail(std::string_view reason, std::string message);

  // Adds a step of the path, from the inside out. Always returns false, for the caller to return.
  bool at(std::string_view key);
  bool at(std::size_t index);

  // ValidationError `invalid_request` with the path. For an error in the whole value the path is one
  // word: `json` for the text, `format` for its type tag, `data` for the tagged data. A value that is
  // nested too deep is such an error, because its path would be as long.
  Error error() const;

 private:
  std::string reason_;
  std::string message_;
  Path reversed_path_;
};

// The text with everything that is not valid UTF-8 replaced, for use in paths and messages.
std::string printable(std::string_view text);

}  // namespace allm::codec
