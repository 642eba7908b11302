#include "engine/schema_cache.hpp"

namespace allm {

const Result<Schema>& LazySchema::compiled(const Json& document) {
  std::call_once(once_, [&] { schema_.emplace(Schema::compile(document)); });
  return *schema_;
}

std::shared_ptr<LazySchema> SchemaCache::find(const Json& document) {
  const std::size_t hash = std::hash<Json>()(document);
  const std::lock_guard lock(mutex_);
  const auto [first, last] = entries_.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    if (entry->second.document == document) return entry->second.schema;
  }
  if (entries_.size() >= kMaxSchemas) entries_.clear();
  return entries_.emplace(hash, Entry{document, std::make_shared<LazySchema>()})->second.schema;
}

}  // namespace allm
