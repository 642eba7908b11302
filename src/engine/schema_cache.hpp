// Cache of compiled tool schemas, by schema document: a program that passes the same tools with every call compiles
// them once.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "allm/json.hpp"
#include "allm/schema.hpp"

namespace allm {

// Compiled at the first use. Safe to call from any thread.
class LazySchema {
 public:
  // `document` must be the same in every call.
  const Result<Schema>& compiled(const Json& document);

 private:
  std::once_flag once_;
  std::optional<Result<Schema>> schema_;
};

// Shared by the tool sets that are made for the runs of one engine. Safe to call from any thread.
class SchemaCache {
 public:
  // The schema of this document; compiled at its first use. Shared: tool sets may outlive the cache's entry.
  std::shared_ptr<LazySchema> find(const Json& document);

 private:
  // A full cache is cleared, so that a program that writes new schemas for each call does not fill the memory.
  static constexpr std::size_t kMaxSchemas = 256;
  struct Entry {
    Json document;
    std::shared_ptr<LazySchema> schema;
  };
  std::mutex mutex_;
  std::unordered_multimap<std::size_t, Entry> entries_;  // by the hash of the document
};

}  // namespace allm
