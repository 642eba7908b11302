// A chat that runs two tools, one after the other: three requests, beside the same three requests alone.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/http/answers.hpp"
#include "bench/http/figures.hpp"
#include "bench/http/workloads.hpp"

namespace allm::bench {
namespace {

constexpr std::size_t kRequests = 3;

void run_chat(const Engine& engine) {
  const Result<ChatResult> result = chat(engine, {user("How warm is it in Oslo?")});
  if (!result || result->steps.size() != kRequests || result->text() != "It is warm.") give_up("a chat went wrong");
}

// Microseconds that `run` takes, of each of `count` runs.
template <class Run>
void measure(int count, std::vector<double>& times_us, std::vector<double>& cpu, Run run) {
  const double cpu_before = cpu_us();
  for (int i = 0; i < count; ++i) {
    const double start = now_us();
    run();
    times_us.push_back(now_us() - start);
  }
  cpu.push_back((cpu_us() - cpu_before) / count);
}

void compare_at(const std::string& name, const std::string& url, const std::string& ca_file) {
  const std::vector<Tool> tools = {tool({.name = "lookup",
                                         .description = "The weather",
                                         .handler = [](const Json& arguments) { return ok(arguments); }})};
  std::vector<BareRequest> requests = requests_of(kTools, tools, run_chat);
  if (requests.size() != kRequests) give_up("a chat made other requests than expected");
  for (BareRequest& request : requests) request.url = url + kTools + "/chat/completions";

  const Engine engine = engine_at(url + kTools, ca_file, tools);
  BareClient client(ca_file);
  const auto run_bare = [&] {
    std::size_t received = 0;
    for (const BareRequest& request : requests) {
      if (!client.post(request, [&](std::string_view bytes) { received += bytes.size(); })) give_up("no answer");
    }
    if (received == 0) give_up("an empty answer");
  };
  const auto run_allm = [&] { run_chat(engine); };
  std::vector<double> allm;
  std::vector<double> bare;
  std::vector<double> allm_cpu;
  std::vector<double> bare_cpu;
  constexpr int kRounds = 20;
  constexpr int kLoops = 50;
  for (int i = 0; i < kRounds; ++i) {
    measure(kLoops, allm, allm_cpu, run_allm);
    measure(kLoops, bare, bare_cpu, run_bare);
  }
  print_heading(fmt::format("three requests with two tools, {}", name));
  print_ratio("wall time, median", "us", median(allm), median(bare), "<= 1.3 x");
  print_ratio("wall time, 99 %", "us", quantile(allm, 0.99), quantile(bare, 0.99));
  print_ratio("CPU", "us", median(allm_cpu), median(bare_cpu));
}

}  // namespace

void tool_loop_workload(const ServerUrls& urls) {
  compare_at("HTTP/1.1", urls.plain, "");
  compare_at("HTTP/1.1 over TLS", urls.tls, urls.tls_ca);
}

}  // namespace allm::bench
