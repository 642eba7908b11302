#include "cli/user_store.hpp"

#include <cstdlib>
#include <filesystem>
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

Result<std::filesystem::path> user_database() {
  std::filesystem::path folder = environment_value("XDG_DATA_HOME");
  if (!folder.is_absolute()) {  // the XDG specification ignores relative paths
    if (environment_value("HOME").empty()) {
      return std::unexpected(no_data_folder("neither HOME nor XDG_DATA_HOME is set; name a store with --store"));
    }
    folder = std::filesystem::path(environment_value("HOME")) / ".local/share";
  }
  folder /= "allm";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return std::unexpected(no_data_folder("cannot create the folder " + folder.string() + ": " + error.message()));
  }
  return folder / "sessions.db";
}

}  // namespace

Result<std::shared_ptr<Store>> open_user_store(const std::string& url) {
  if (!url.empty()) return open_store(url);
  if (const std::string named = environment_value("ALLM_STORE"); !named.empty()) return open_store(named);
  const auto path = user_database();
  if (!path) return std::unexpected(path.error());
  return open_store("sqlite:" + path->string());
}

}  // namespace allm::cli
