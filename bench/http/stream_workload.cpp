// A stream of 50 deltas over a kept connection: measures the delay until the consumer has each delta, and the client's
// CPU time.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/http/answers.hpp"
#include "bench/http/figures.hpp"
#include "bench/http/workloads.hpp"

namespace allm::bench {
namespace {

struct Measured {
  std::vector<double> delays_us = {};
  std::vector<double> cpu_us = {};  // of one stream, for each round
};

void read_stream(const Engine& engine, std::vector<double>& delays_us) {
  bool completed = false;
  StampReader stamps;
  for (const Event& event : stream_generate(engine, {.messages = {user("Which ocean is the largest?")}})) {
    if (const auto* text = event.get_if<TextDelta>()) stamps.read(text->delta, delays_us);
    completed = completed || event.get_if<MessageCompleted>() != nullptr;
  }
  if (!completed) give_up("a stream did not complete");
}

// `read(delays)` reads one stream.
template <class Read>
void round(int streams, Measured& measured, Read read) {
  const std::size_t before = measured.delays_us.size();
  const double start = cpu_us();
  for (int i = 0; i < streams; ++i) read(measured.delays_us);
  measured.cpu_us.push_back((cpu_us() - start) / streams);
  if (measured.delays_us.size() - before != static_cast<std::size_t>(streams * kDeltas)) give_up("deltas are missing");
}

// The two clients take turns, so that other load on the machine affects both.
std::pair<Measured, Measured> compare(const std::string& url, const std::string& ca_file, int rounds, int streams) {
  const auto ask = [](const Engine& engine) {
    std::vector<double> ignored;
    read_stream(engine, ignored);
  };
  BareRequest request = requests_of(kBurst, {}, ask).at(0);
  request.url = url + "/chat/completions";
  const Engine engine = engine_at(url, ca_file);
  BareClient client(ca_file);
  const auto read_bare = [&](std::vector<double>& delays_us) {
    StampReader stamps;
    if (!client.post(request, [&](std::string_view bytes) { stamps.read(bytes, delays_us); })) {
      give_up("a bare request failed");
    }
  };
  const auto read_allm = [&](std::vector<double>& delays_us) { read_stream(engine, delays_us); };
  Measured warm_up;
  round(3, warm_up, read_allm);
  round(3, warm_up, read_bare);
  std::pair<Measured, Measured> measured;
  for (int i = 0; i < rounds; ++i) {
    round(streams, measured.first, read_allm);
    round(streams, measured.second, read_bare);
  }
  return measured;
}

void compare_streams_at(const std::string& name, const std::string& url, const std::string& ca_file) {
  const auto [paced, bare_paced] = compare(url + kPaced, ca_file, 20, 10);
  print_heading(fmt::format("50 deltas, 1 ms apart, {}", name));
  print_difference("delivery delay, median", median(paced.delays_us), median(bare_paced.delays_us), "<= +50 us");
  print_difference("delivery delay, 99 %", quantile(paced.delays_us, 0.99), quantile(bare_paced.delays_us, 0.99));
  print_ratio("CPU a stream", "us", median(paced.cpu_us), median(bare_paced.cpu_us), "<= 1.5 x");
  const auto [burst, bare_burst] = compare(url + kBurst, ca_file, 20, 50);
  print_heading(fmt::format("50 deltas without pauses, {}", name));
  print_ratio("CPU a stream", "us", median(burst.cpu_us), median(bare_burst.cpu_us), "<= 1.5 x");
}

}  // namespace

void stream_workload(const ServerUrls& urls) {
  compare_streams_at("HTTP/1.1", urls.plain, "");
  compare_streams_at("HTTP/1.1 over TLS", urls.tls, urls.tls_ca);
}

}  // namespace allm::bench
