#include "cli/man_command.hpp"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

#include "cli/command/man.hpp"

namespace allm::cli {
namespace {

int write_man_pages(const std::filesystem::path& folder, const CommandContext& context) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  for (const ManPage& page : man_pages(context.root, context.version)) {
    const std::filesystem::path path = folder / (page.name + ".1");
    std::ofstream file(path, std::ios::binary);
    file << page.text;
    file.close();
    if (!file) {
      context.errors.write("allm man: cannot write " + printable(path.string()) + "\n");
      return 1;
    }
  }
  return 0;
}

}  // namespace

CommandSpec man_spec() {
  auto folder = std::make_shared<std::string>();
  return {.name = "man",
          .summary = "Write the man pages",
          .options = {{.names = "folder",
                       .value = "FOLDER",
                       .help = "Where they are written; it is created.",
                       .target = folder.get(),
                       .required = true,
                       .completion = Completion::directories}},
          .exit_codes = {{0, "Success."}, {1, "A page cannot be written."}, {2, "The command line is wrong."}},
          .hidden = true,
          .run = [folder](const CommandContext& context) { return write_man_pages(*folder, context); }};
}

}  // namespace allm::cli
