// The program allm. It loads the commands only if there is something to run, so that it starts fast
// (cmake/Command.cmake).
#include <cstdio>
#include <dlfcn.h>
#include <string_view>

#include "cli/entry.hpp"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") return std::puts("allm " ALLM_VERSION) < 0 ? 1 : 0;
  void* const commands = dlopen(allm::cli::kCommandLibrary, RTLD_LAZY | RTLD_LOCAL);
  void* const entry = commands == nullptr ? nullptr : dlsym(commands, allm::cli::kCommandEntry);
  if (entry == nullptr) {
    std::fprintf(stderr, "allm: it is not installed completely: %s\n", dlerror());
    return 1;
  }
  return reinterpret_cast<decltype(&allm_command_main)>(entry)(argc, argv);
}
