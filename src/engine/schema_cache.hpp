// Compiled schemas of tools, found again by their documents, so that tools which a program gives anew with every call
// are compiled once.
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
  // `document` is the same in every call.
  const Result<Schema>& compiled(const Json& document);

 private:
  std::once_flag once_;
  std::optional<Result<Schema>> schema_;
};

// Shared by the tool sets that are made for the runs of one engine. Safe to call from any thread.
class SchemaCache {
 public:
  // The schema of this document, compiled or not. Shared: tool sets may outlive the cache's entry.
  std::shared_ptr<LazySchema> find(const Json& document);

 private:
  // A program that writes new schemas for each call must not fill the memory; beyond this the cache begins anew.
  static constexpr std::size_t kMaxSchemas = 256;
  struct Entry {
    Json document;
    std::shared_ptr<LazySchema> schema;
  };
  std::mutex mutex_;
  std::unordered_multimap<std::size_t, Entry> entries_;  // by the hash of the document
};

}  // namespace allm
