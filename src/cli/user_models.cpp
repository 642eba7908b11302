#include "cli/user_models.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace allm::cli {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// "" if there is nowhere to look.
fs::path usual_file() {
  fs::path folder = variable("XDG_CONFIG_HOME");
  // The specification of that variable has relative paths ignored.
  if (!folder.is_absolute()) {
    const fs::path home = variable("HOME");
    if (home.empty()) return {};
    folder = home / ".config";
  }
  return folder / "allm" / "models.json";
}

// False only if it is certain: a file that we may not look at is to be reported, not passed over.
bool may_exist(const fs::path& path) {
  std::error_code ignored;
  return fs::status(path, ignored).type() != fs::file_type::not_found;
}

Result<std::shared_ptr<const Catalogue>> with_file(const std::string& path) {
  const Result<Catalogue> file = read_catalogue(path);
  if (!file) return std::unexpected(file.error());
  return std::make_shared<const Catalogue>(builtin_catalogue()->overridden_by(*file));
}

}  // namespace

Result<std::shared_ptr<const Catalogue>> user_catalogue() {
  if (const std::string named = variable("ALLM_MODELS"); !named.empty()) return with_file(named);
  const fs::path usual = usual_file();
  if (usual.empty() || !may_exist(usual)) return builtin_catalogue();
  return with_file(usual.string());
}

}  // namespace allm::cli
