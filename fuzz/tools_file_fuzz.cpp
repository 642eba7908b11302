// Reads arbitrary bytes as a tools file. Expands its command lines, with their own words as arguments.
#include "allm/tools_file.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include "lanes/command_line.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > (16 << 10)) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto tools = allm::tools_from_toml(text);
  if (!tools) return 0;
  for (const allm::Tool& tool : *tools) {
    if (!tool.command) continue;
    allm::Json arguments = allm::Json::object();
    for (const std::string& name : allm::template_names(tool.command->argv)) arguments[name] = name;
    const auto words = allm::expand_command(*tool.command, arguments);
    // All arguments are given, so no word is left out.
    if (words && words->size() != tool.command->argv.size()) __builtin_trap();
  }
  return 0;
}
