// A set of tools as a run uses it: found by name, with their schemas compiled at the first use.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allm/schema.hpp"
#include "allm/tool.hpp"

namespace allm {

// Immutable; safe from any thread. Shared by the runs of an engine, so that a schema is compiled
// once and not once a call.
class ToolSet {
 public:
  explicit ToolSet(std::vector<Tool> tools);

  const std::vector<Tool>& tools() const { return tools_; }
  // Null if there is none of that name. Of two with one name the first is found.
  const Tool* find(std::string_view name) const;

  // The schema of one of tools(), or why it does not compile. Null for a schema that accepts every
  // object, which needs no check.
  const Result<Schema>* schema(const Tool& tool) const;

  // This set with `more` added; a tool of the same name is replaced where it stands.
  std::shared_ptr<const ToolSet> with(const std::vector<Tool>& more) const;

 private:
  struct Compiled {
    std::once_flag once;
    std::optional<Result<Schema>> schema;
  };
  std::vector<Tool> tools_;
  std::unordered_map<std::string_view, std::size_t> index_;  // only for large sets
  std::unique_ptr<Compiled[]> compiled_;
};

}  // namespace allm
