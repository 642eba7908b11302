// The memory of streams over HTTP/2 that have begun and wait for their next event.
#include <cstddef>
#include <fstream>
#include <malloc.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "bench/http/answers.hpp"
#include "bench/http/figures.hpp"
#include "bench/http/workloads.hpp"

namespace allm::bench {
namespace {

constexpr std::size_t kStreams = 4'000;

double resident_kb() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024.0;
}

void read_first_delta(EventStream& events) {
  while (const Poll event = events.next()) {
    if (event->get_if<TextDelta>() != nullptr) return;
    if (const auto* failed = event->get_if<ErrorEvent>()) give_up(failed->error.message());
  }
  give_up("a stream ended before its first delta");
}

}  // namespace

void memory_workload(const ServerUrls& urls) {
  fmt::print("\n{} open streams, HTTP/2 over TLS\n", kStreams);
  if (urls.http2.empty()) return fmt::print("left out: nghttpx is not installed\n");
  const Engine engine = engine_at(urls.http2 + kWaiting, urls.http2_ca);
  const auto open = [&] { return stream_generate(engine, {.messages = {user("Which ocean is the largest?")}}); };
  std::vector<EventStream> streams;
  streams.reserve(kStreams + 1);
  streams.push_back(open());
  read_first_delta(streams.back());  // so that one-time costs are not measured
  const double before = resident_kb();
  for (std::size_t i = 0; i < kStreams; ++i) {
    streams.push_back(open());
    read_first_delta(streams.back());
  }
  const double after = resident_kb();
  fmt::print("{:<46} {:>9.1f} KB {:>27}   <= 40 KB\n", "memory a stream", (after - before) / kStreams, "");
}

}  // namespace allm::bench
