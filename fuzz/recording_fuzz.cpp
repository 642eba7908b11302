// Reads arbitrary bytes as a recording. If it is valid, its requests are replayed: each call gets an answer or an
// error, and what a run returns can be saved.
#include "allm/recording.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "allm/allm.hpp"

namespace {

constexpr std::size_t kMaxBytes = 16 << 10;

// A file in memory, under a path that can be opened.
const std::string& path_of(const std::uint8_t* data, std::size_t size) {
  static const int fd = memfd_create("recording", MFD_CLOEXEC);
  static const auto* const path = new std::string("/proc/self/fd/" + std::to_string(fd));
  if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  return *path;
}

// The requests in the recording, and others that none of its exchanges has.
void replay_requests(const allm::Engine& engine, std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const allm::Result<allm::Json> exchange = allm::parse_json(line);
    if (!exchange || !exchange->is_object()) continue;
    const allm::Json::json_pointer place("/request/request");
    if (!exchange->contains(place)) continue;
    const allm::Result<allm::Request> request = allm::from_json<allm::Request>((*exchange)[place].dump());
    if (!request) continue;
    const allm::Result<allm::ChatResult> result = allm::chat(engine, *request, {.max_turns = 2});
    if (result && !allm::to_json(*result)) __builtin_trap();
    static_cast<void>(allm::generate(engine, *request));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxBytes) return 0;
  const std::string& path = path_of(data, size);
  const std::vector<std::string> everything{""};
  for (const bool ignores_requests : {false, true}) {
    const auto adapter =
        ignores_requests ? allm::replay(path, {.ignore = everything}) : allm::replay(path, {.reuse = true});
    if (!adapter) {
      if (adapter.error().message().empty()) __builtin_trap();
      continue;
    }
    const allm::Engine engine({.adapter = *adapter,
                               .tools = {{.name = "quick", .handler = [](const allm::Json&) { return allm::ok(1); }}},
                               .retry = allm::RetryPolicy::off()});
    static_cast<void>(allm::chat(engine, allm::Thread{allm::user("hi")}));
    replay_requests(engine, {reinterpret_cast<const char*>(data), size});
  }
  return 0;
}
