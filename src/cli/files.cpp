#include "cli/files.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace allm::cli {

namespace fs = std::filesystem;

std::vector<fs::path> find_json_files(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<fs::path> found;
    fs::recursive_directory_iterator entry(path, error);
    if (error) found.push_back(path);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      if (entry->path().extension() == ".json" && !entry->is_directory(error)) found.push_back(entry->path());
    }
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

Result<Json> read_json_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;
  std::string text;
  const bool opened = file.is_open() && !fs::is_directory(path, ignored);
  if (opened) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!opened || file.bad()) {
    return std::unexpected(
        validation_error(ValidationError::Reason::invalid_scenario, {}, "unreadable", "the file cannot be read"));
  }
  return parse_json(text);
}

std::string read_input(std::FILE* file) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file)) text.append(buffer.data(), count);
  return text;
}

}  // namespace allm::cli
