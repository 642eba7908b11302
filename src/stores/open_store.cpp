#include <memory>
#include <string_view>

#include "allm/work_queue.hpp"

#include "stores/memory/memory_store.hpp"
#include "stores/postgres/postgres_store.hpp"
#include "stores/sqlite/sqlite_store.hpp"
#include "stores/store_errors.hpp"

namespace allm {
namespace {

constexpr std::string_view kSqlite = "sqlite:";
constexpr std::string_view kValidUrls = "memory:, sqlite:PATH and postgresql://…";

}  // namespace

Result<std::shared_ptr<Store>> open_store(const std::string& url) {
  if (url == "memory:") return std::make_shared<MemoryStore>();
  if (url.starts_with(kSqlite)) return open_sqlite_store({.path = url.substr(kSqlite.size())});
  if (url.starts_with("postgresql://") || url.starts_with("postgres://")) return open_postgres_store(url);
  // The URL may contain a password, so the message names only its scheme.
  const std::size_t colon = url.find(':');
  const std::string error = colon == std::string::npos ? "the URL of the store has no scheme"
                                                       : "no store has the URL " + url.substr(0, colon + 1) + "…";
  return std::unexpected(
      store_error(StoreError::Reason::invalid_url, error + "; valid URLs are " + std::string(kValidUrls)));
}

}  // namespace allm
