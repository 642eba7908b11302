// A chat that runs two tools, one after the other: three requests. The baseline sends the same three requests.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/http/answers.hpp"
#include "bench/http/figures.hpp"
#include "bench/http/own_process.hpp"
#include "bench/http/workloads.hpp"

namespace allm::bench {
namespace {

constexpr std::size_t kRequests = 3;

void run_chat(const Engine& engine) {
  const Result<ChatResult> result = chat(engine, {user("How warm is it in Oslo?")});
  if (!result || result->steps.size() != kRequests || result->text() != "It is warm.") give_up("a chat went wrong");
}

// The time of each run in microseconds. The last element is the CPU time of one run.
template <class Run>
std::vector<double> measure(Run run) {
  constexpr int kWarmUps = 50;
  constexpr int kRuns = 200;
  for (int i = 0; i < kWarmUps; ++i) run();
  std::vector<double> times_us;
  const double cpu_before = cpu_us();
  for (int i = 0; i < kRuns; ++i) {
    const double start = now_us();
    run();
    times_us.push_back(now_us() - start);
  }
  times_us.push_back((cpu_us() - cpu_before) / kRuns);
  return times_us;
}

std::vector<Tool> lookup() {
  return {tool({.name = "lookup", .description = "The weather", .handler = [](const Json& arguments) {
                  return ok(arguments);
                }})};
}

std::vector<double> measure_allm(const std::string& url, const std::string& ca_file) {
  const Engine engine = engine_at(url + kTools, ca_file, lookup(), Runtime::create());
  return measure([&] { run_chat(engine); });
}

std::vector<double> measure_bare(const std::string& url, const std::string& ca_file) {
  std::vector<BareRequest> requests = requests_of(kTools, lookup(), run_chat);
  if (requests.size() != kRequests) give_up("a chat made other requests than expected");
  for (BareRequest& request : requests) request.url = url + kTools + "/chat/completions";
  BareClient client(ca_file);
  return measure([&] {
    std::size_t received = 0;
    for (const BareRequest& request : requests) {
      if (!client.post(request, [&](std::string_view bytes) { received += bytes.size(); })) give_up("no answer");
    }
    if (received == 0) give_up("an empty answer");
  });
}

void add(std::vector<double> measured, std::vector<double>& times_us, std::vector<double>& cpu) {
  cpu.push_back(measured.back());
  measured.pop_back();
  times_us.insert(times_us.end(), measured.begin(), measured.end());
}

void compare_loops_at(const std::string& name, const std::string& url, const std::string& ca_file) {
  std::vector<double> allm;
  std::vector<double> bare;
  std::vector<double> allm_cpu;
  std::vector<double> bare_cpu;
  // The kernel decides at the first contact whether client and server run on one core or on two. The decision stays and
  // changes the time by half, so the measurement is repeated with new processes.
  constexpr int kRepetitions = 15;
  for (int i = 0; i < kRepetitions; ++i) {
    add(in_own_process([&] { return measure_allm(url, ca_file); }), allm, allm_cpu);
    add(in_own_process([&] { return measure_bare(url, ca_file); }), bare, bare_cpu);
  }
  print_heading(fmt::format("three requests with two tools, {}", name));
  print_ratio("wall time, median", "us", median(allm), median(bare), "<= 1.3 x");
  print_ratio("wall time, 10 %", "us", quantile(allm, 0.1), quantile(bare, 0.1));
  print_ratio("wall time, 99 %", "us", quantile(allm, 0.99), quantile(bare, 0.99));
  print_ratio("CPU", "us", median(allm_cpu), median(bare_cpu));
}

}  // namespace

void tool_loop_workload(const ServerUrls& urls) {
  compare_loops_at("HTTP/1.1", urls.plain, "");
  compare_loops_at("HTTP/1.1 over TLS", urls.tls, urls.tls_ca);
}

}  // namespace allm::bench
