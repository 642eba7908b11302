#include "process/helper.hpp"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "process/role.hpp"

namespace allm {
namespace {

constexpr const char* kHelperName = "allm-helper";

bool is_executable(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::expected<std::string, std::string> named(const std::string& path, const std::string& by) {
  if (is_executable(path)) return path;
  return std::unexpected("the helper executable '" + path + "', which " + by + " names, is not an executable file");
}

// The file that holds this code: the program, or the shared library allm.
std::filesystem::path own_file() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_helper), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  return std::filesystem::canonical(info.dli_fname, error);
}

std::vector<std::string> candidate_paths() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::filesystem::path library = own_file().parent_path();
  std::vector<std::string> paths;
  for (const auto& folder :
       {program, library, library.parent_path() / "bin", std::filesystem::path(ALLM_INSTALLED_PROGRAMS)}) {
    const std::string path = (folder / kHelperName).string();
    if (folder.is_absolute() && std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
  }
  return paths;
}

}  // namespace

std::expected<std::string, std::string> find_helper(const std::string& option) {
  if (!option.empty()) return named(option, "the option RuntimeOptions::helper");
  if (has_worker_entry_point()) return "/proc/self/exe";
  if (const char* const variable = secure_getenv(kHelperVariable); variable != nullptr && *variable != '\0') {
    return named(variable, std::string("the environment variable ") + kHelperVariable);
  }
  std::string looked;
  for (const std::string& path : candidate_paths()) {
    if (is_executable(path)) return path;
    looked += (looked.empty() ? "" : ", ") + path;
  }
  return std::unexpected(
      "worker processes and commands need an executable to start them: call allm::run_as_worker_if_asked at the top of "
      "main, or name a helper executable in RuntimeOptions::helper or in the environment variable " +
      std::string(kHelperVariable) + "; there is none at " + looked);
}

}  // namespace allm
