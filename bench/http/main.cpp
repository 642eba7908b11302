// Benchmarks with a server, compared with bare libcurl. Arguments select them: stream, tools, memory, flood.
#include <algorithm>
#include <string_view>
#include <sys/resource.h>
#include <vector>

#include "bench/http/workloads.hpp"

namespace {

// Raises the limit of open files for thousands of connections. The server's process inherits it.
void allow_many_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string_view> chosen(arguments + 1, arguments + count);
  const auto wanted = [&](std::string_view name) {
    return chosen.empty() || std::ranges::find(chosen, name) != chosen.end();
  };
  allow_many_files();
  const allm::bench::ServerProcess server;
  if (wanted("stream")) allm::bench::stream_workload(server.urls());
  if (wanted("tools")) allm::bench::tool_loop_workload(server.urls());
  if (wanted("memory")) allm::bench::memory_workload(server.urls());
  if (wanted("flood")) allm::bench::flood_workload();
}
