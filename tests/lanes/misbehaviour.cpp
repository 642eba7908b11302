#include "tests/lanes/misbehaviour.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace allm::testing {
namespace {

[[noreturn]] void sleep_for_ever() {
  while (true) pause();
}

// Written so that no compiler turns it into a loop.
__attribute__((noinline)) std::uint64_t recurse(std::uint64_t depth) {
  volatile char frame[4096];
  frame[depth % 4096] = static_cast<char>(depth);
  if (depth == UINT64_MAX) return 0;
  return recurse(depth + 1) + static_cast<std::uint64_t>(frame[depth % 4096]);
}

void write_megabytes(int fd, int megabytes) {
  const std::string block(1U << 20U, 'x');
  for (int i = 0; i < megabytes; ++i) {
    if (write(fd, block.data(), block.size()) < 0) return;
  }
}

void allocate_without_bound() {
  std::vector<std::unique_ptr<char[]>> blocks;
  while (true) {
    constexpr std::size_t kSize = 16U << 20U;
    blocks.push_back(std::make_unique_for_overwrite<char[]>(kSize));
    std::memset(blocks.back().get(), 1, kSize);
  }
}

// A daemon: in a session of its own, without inherited descriptors.
void leave_a_child() {
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  for (int fd = 0; fd < 64; ++fd) close(fd);
  sleep_for_ever();
}

using Kinds = std::vector<std::pair<std::string, std::function<void()>>>;
const Kinds& kinds() {
  static const auto* const all = new Kinds{
      {"returns", [] {}},
      {"throws", [] { throw std::runtime_error("no luck"); }},
      {"throws_no_exception", [] { throw 42; }},
      {"sleeps", [] { sleep_for_ever(); }},
      {"spins",
       [] {
         std::atomic<std::uint64_t> turns = 0;
         while (true) ++turns;
       }},
      {"ignores_sigterm",
       [] {
         std::signal(SIGTERM, SIG_IGN);
         sleep_for_ever();
       }},
      {"segfaults",
       [] {
         std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would handle it
         std::raise(SIGSEGV);
       }},
      {"aborts", [] { std::abort(); }},
      {"exits_3", [] { std::exit(3); }},
      {"overflows_the_stack", [] { recurse(0); }},
      {"allocates", [] { allocate_without_bound(); }},
      {"leaves_a_child", [] { leave_a_child(); }},
      {"writes_1_gb", [] { write_megabytes(STDOUT_FILENO, 1024); }},
      {"closes_its_pipes",
       [] {
         for (int fd = 0; fd < 64; ++fd) close(fd);
       }},
      {"floods_stderr", [] { write_megabytes(STDERR_FILENO, 64); }},
      {"terminates_from_another_thread", [] { std::thread([] { std::terminate(); }).join(); }},
  };
  return *all;
}

}  // namespace

const std::vector<std::string>& misbehaviours() {
  static const auto* const names = [] {
    auto* list = new std::vector<std::string>();
    for (const auto& [name, run] : kinds()) list->push_back(name);
    return list;
  }();
  return *names;
}

ToolOutcome misbehave(const std::string& kind) {
  for (const auto& [name, run] : kinds()) {
    if (name == kind) run();
  }
  return ok(kind);
}

Tool worker_tool(const std::string& kind) {
  return {.name = kind, .handler = [kind](const Json&) { return misbehave(kind); }, .lane = Lane::worker};
}

Tool command_tool(const std::string& kind) {
  return {.name = kind, .command = Command{.argv = {ALLM_MISBEHAVE, kind}}};
}

}  // namespace allm::testing
