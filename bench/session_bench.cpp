// Workload (d): writes and reads the JSON of a session.
#include <fstream>
#include <iterator>
#include <string>

#include <benchmark/benchmark.h>

#include "allm/allm.hpp"

namespace allm::bench {
namespace {

constexpr std::size_t kMessages = 200;

std::string session_text() {
  std::ifstream file(std::string(ALLM_SOURCE_DIR) + "/tests/data/session200.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

void d_write(benchmark::State& state) {
  const Result<Session> session = from_json<Session>(session_text());
  if (!session) {
    state.SkipWithError("the session does not load");
    return;
  }
  std::size_t bytes = 0;
  for (auto _ : state) {
    const Result<std::string> text = to_json(*session);
    bytes = text ? text->size() : 0;
    benchmark::DoNotOptimize(text);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}
BENCHMARK(d_write);

void d_parse(benchmark::State& state) {
  const std::string text = session_text();
  for (auto _ : state) {
    const Result<Session> session = from_json<Session>(text);
    if (!session || session->thread.messages.size() != kMessages) {
      state.SkipWithError("wrong result");
      break;
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(d_parse);

}  // namespace
}  // namespace allm::bench
