// How readers and writers of JSON report what went wrong.
//
// They recurse through a value and answer true or false. The innermost one that fails says why;
// each level that it returns through adds its step of the path. So a path costs nothing until
// something is wrong. One operation owns one Failure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "allm/error.hpp"

namespace allm::codec {

class Failure {
 public:
  // Records what is wrong, forgetting an earlier failure. Always false, to be returned.
  bool fail(std::string_view reason, std::string message);

  // Adds the step that leads to what failed, from the inside out. Always false, to be returned.
  bool at(std::string_view key);
  bool at(std::size_t index);

  // ValidationError `invalid_request` with the path. Where the whole value is meant the path is one
  // word: `json` for the text, `format` for its type tag, `data` for what is tagged. What nests too
  // deep is a fault of the whole, and its path would be as deep.
  Error error() const;

 private:
  std::string reason_;
  std::string message_;
  Path reversed_path_;
};

// The text with everything that is no UTF-8 replaced, for use in paths and messages.
std::string printable(std::string_view text);

}  // namespace allm::codec
