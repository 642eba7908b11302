// The errors in a schema document. The compiler goes on after an error, so that the author sees all of them at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "allm/error.hpp"

#include "schema/node.hpp"

namespace allm::schema_detail {

class CompileErrors {
 public:
  // Records that the value at `below` under a node is wrong. `reason` is a snake_case word for programs, `message` a
  // phrase for people: "must be a number, got string". Errors beyond the sixteenth are only counted.
  void add(const Node& node, Path below, std::string_view reason, const std::string& message);

  bool empty() const { return count_ == 0; }
  // Precondition: not empty.
  Error to_error() const;

 private:
  std::vector<FieldError> errors_;
  std::string first_message_;
  std::size_t count_ = 0;
};

}  // namespace allm::schema_detail
