#include "cli/user_store.hpp"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace allm::cli {
namespace {

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Error no_data_folder(const std::string& message) {
  return {StoreError{.reason = StoreError::Reason::invalid_url}, message};
}

// Its folder need not exist.
Result<std::filesystem::path> user_database() {
  std::filesystem::path folder = environment_value("XDG_DATA_HOME");
  if (!folder.is_absolute()) {  // the XDG specification ignores relative paths
    if (environment_value("HOME").empty()) {
      return std::unexpected(no_data_folder("neither HOME nor XDG_DATA_HOME is set; name a store with --store"));
    }
    folder = std::filesystem::path(environment_value("HOME")) / ".local/share";
  }
  return folder / "allm/sessions.db";
}

}  // namespace

Result<std::shared_ptr<Store>> open_user_store(const std::string& url) {
  if (!url.empty()) return open_store(url);
  if (const std::string named = environment_value("ALLM_STORE"); !named.empty()) return open_store(named);
  const auto path = user_database();
  if (!path) return std::unexpected(path.error());
  std::error_code error;
  std::filesystem::create_directories(path->parent_path(), error);
  if (error) {
    return std::unexpected(
        no_data_folder("cannot create the folder " + path->parent_path().string() + ": " + error.message()));
  }
  return open_store("sqlite:" + path->string());
}

Result<std::shared_ptr<Store>> open_existing_user_store() {
  constexpr std::string_view kFile = "sqlite:";
  std::string url = environment_value("ALLM_STORE");
  if (url.empty()) {
    const auto path = user_database();
    if (!path) return std::unexpected(path.error());
    url = std::string(kFile) + path->string();
  }
  std::error_code ignored;
  if (url.starts_with(kFile) && !std::filesystem::exists(url.substr(kFile.size()), ignored)) return nullptr;
  return open_store(url);
}

OptionSpec store_option(std::string& url) {
  return {.names = "--store",
          .value = "URL",
          .help =
              "The store: sqlite:PATH, postgresql://... or memory:. Default: that in ALLM_STORE, else the user's own "
              "SQLite file.",
          .target = &url};
}

}  // namespace allm::cli
