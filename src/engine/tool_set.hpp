// The tools of a run: finds them by name and compiles their schemas at the first use.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allm/schema.hpp"
#include "allm/tool.hpp"

#include "engine/schema_cache.hpp"

namespace allm {

// Immutable; safe to call from any thread. Shared by the runs of an engine, so that each schema is compiled once and
// not once per call.
class ToolSet {
 public:
  explicit ToolSet(std::vector<Tool> tools);
  // Takes compiled schemas from a cache.
  ToolSet(std::vector<Tool> tools, std::shared_ptr<SchemaCache> cache);

  const std::vector<Tool>& tools() const { return tools_; }
  // Null if no tool has that name. Of two tools with one name the first is found.
  const Tool* find(std::string_view name) const;

  // The schema of one of tools(), or why it does not compile. Null for a schema that accepts every
  // object, which needs no check.
  const Result<Schema>* schema(const Tool& tool) const;

  // This set with `more` added; a tool of the same name is replaced in its position. If two of `more` have one name,
  // both stay, so that the run's checks report them. Schemas of this set are not compiled again.
  std::shared_ptr<const ToolSet> with(const std::vector<Tool>& more) const;

  const std::shared_ptr<SchemaCache>& cache() const { return cache_; }

 private:
  void make_index();

  std::vector<Tool> tools_;
  std::unordered_map<std::string_view, std::size_t> index_;  // only for large sets
  // One for each tool, shared with the sets that are derived from this one; null for a schema that needs no check.
  std::vector<std::shared_ptr<LazySchema>> schemas_;
  std::shared_ptr<SchemaCache> cache_;  // shared with the sets of other runs of the engine
};

}  // namespace allm
