#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "data/utf8.hpp"
#include "testing/conformance/message_rules.hpp"

namespace allm {
namespace conformance {
namespace {

using AdapterFactory = std::function<std::shared_ptr<Adapter>()>;

// Sources are destroyed after 0, 1, 2, … events, up to this number.
constexpr std::size_t kMostDrops = 32;

struct Rule {
  const char* name;
  Finding (*check)(const Reading&);
};

constexpr Rule kRules[] = {
    {"answers_the_request", answers_the_request},
    {"throws_nothing", throws_nothing},
    {"message_started_is_first", message_started_is_first},
    {"message_completed_is_last", message_completed_is_last},
    {"end_is_final", end_is_final},
    {"only_model_events", only_model_events},
    {"text_is_utf8", text_is_utf8},
    {"text_deltas_match_the_text", text_deltas_match_the_text},
    {"pending_calls_the_waker", pending_calls_the_waker},
    {"latest_waker_is_called", latest_waker_is_called},
};
constexpr Rule kToolRules[] = {
    {"calls_tools", calls_tools},
    {"call_ids_are_unique", call_ids_are_unique},
    {"calls_are_started_and_completed", calls_are_started_and_completed},
    {"call_deltas_match_the_arguments", call_deltas_match_the_arguments},
    {"finish_reason_is_tool_calls", finish_reason_is_tool_calls},
};
constexpr Rule kErrorRules[] = {
    {"failures_are_errors", failures_are_errors},
    {"nothing_follows_an_error", nothing_follows_an_error},
};

// Makes adapters and reads their calls under a watchdog.
class AdapterReader {
 public:
  AdapterReader(AdapterFactory factory, AdapterConformanceOptions options)
      : factory_(std::move(factory)), options_(std::move(options)) {}

  const AdapterConformanceOptions& options() const { return options_; }
  std::shared_ptr<Adapter> make() const { return factory_(); }

  // Reads one call of a new adapter. `blocked` receives the name of a call that did not return.
  Reading read(const Request& request, ReadLimits limits, Finding& blocked) const {
    return read_from(make(), request, limits, blocked);
  }

  // The thread may be detached, so it owns everything that it uses.
  Reading read_from(std::shared_ptr<Adapter> adapter, const Request& request, ReadLimits limits,
                    Finding& blocked) const {
    const auto reading = std::make_shared<Reading>();
    const AdapterCall call = call_of(request);
    Finding stuck =
        run_probe(options_.max_blocking, [reading, limits, call, adapter = std::move(adapter)](Probe& probe) mutable {
          *reading = read_call(probe, *adapter, call, limits);
          probe.call("the destructor of the adapter", [&] { adapter.reset(); });
        });
    if (!stuck) return std::move(*reading);
    blocked = std::move(stuck);
    return {};
  }

 private:
  AdapterCall call_of(const Request& request) const {
    return {.request = request,
            .model = options_.model,
            .request_id = "conformance",
            .options = options_.options,
            .api_key = options_.api_key,
            .runtime = options_.runtime ? options_.runtime : Runtime::process()};
  }

  AdapterFactory factory_;
  AdapterConformanceOptions options_;
};

template <std::size_t Count>
void apply(const Rule (&rules)[Count], const Reading& reading, ReportBuilder& report) {
  for (const Rule& rule : rules) report.add(rule.name, rule.check(reading));
}
template <std::size_t Count>
void skip(const Rule (&rules)[Count], const std::string& why, ReportBuilder& report) {
  for (const Rule& rule : rules) report.skip(rule.name, why);
}

Finding provider_has_a_name(const Adapter& adapter) {
  const std::string_view name = adapter.provider();
  if (name.empty()) return "provider() is empty; give a short name for messages and metadata";
  if (!is_utf8(name)) return "provider() is not valid UTF-8";
  return std::nullopt;
}

// Destroys the source before its first poll, after each event and while it is pending.
Finding dropping_cancels(const AdapterReader& reader, std::size_t events, Finding& blocked) {
  const AdapterConformanceOptions& options = reader.options();
  for (std::size_t count = 0; count <= std::min(events, kMostDrops) && !blocked; ++count) {
    const Reading part = reader.read(options.request, {.timeout = options.timeout, .events = count}, blocked);
    if (part.thrown) return "dropped after " + std::to_string(count) + " events: " + *part.thrown;
  }
  if (!blocked) reader.read(options.request, {.timeout = options.timeout, .drop_pending = true}, blocked);
  return blocked;
}

Finding calls_at_once(const AdapterReader& reader, Finding& blocked) {
  const AdapterConformanceOptions& options = reader.options();
  const std::shared_ptr<Adapter> shared = reader.make();
  std::vector<Reading> readings(options.threads);
  std::vector<Finding> stuck(options.threads);
  {
    std::vector<std::jthread> threads;
    threads.reserve(options.threads);
    for (std::size_t i = 0; i < options.threads; ++i) {
      threads.emplace_back(
          [&, i] { readings[i] = reader.read_from(shared, options.request, {.timeout = options.timeout}, stuck[i]); });
    }
  }
  for (std::size_t i = 0; i < options.threads; ++i) {
    if (stuck[i]) return blocked = stuck[i];
    for (const Rule& rule : kRules) {
      if (Finding wrong = rule.check(readings[i])) {
        return "of " + std::to_string(options.threads) + " calls at once, one breaks " + rule.name + ": " + *wrong +
               ". open() is called from any thread.";
      }
    }
  }
  return std::nullopt;
}

void check_optional(const AdapterReader& reader, ReportBuilder& report, Finding& blocked) {
  const AdapterConformanceOptions& options = reader.options();
  if (options.tool_request) {
    apply(kToolRules, reader.read(*options.tool_request, {.timeout = options.timeout}, blocked), report);
  } else {
    skip(kToolRules, "needs the option `tool_request`", report);
  }
  if (options.failing_request) {
    apply(kErrorRules, reader.read(*options.failing_request, {.timeout = options.timeout}, blocked), report);
  } else {
    skip(kErrorRules, "needs the option `failing_request`", report);
  }
}

// If the first call does not return, no other check is possible.
void check_all(const AdapterReader& reader, ReportBuilder& report) {
  const AdapterConformanceOptions& options = reader.options();
  Finding blocked;
  const Reading answer = reader.read(options.request, {.timeout = options.timeout}, blocked);
  if (blocked) return report.add("calls_do_not_block", *blocked + ". A source that has to wait returns pending.");
  apply(kRules, answer, report);
  check_optional(reader, report, blocked);
  report.add("dropping_cancels", dropping_cancels(reader, answer.events.size(), blocked));
  report.add("calls_at_once", calls_at_once(reader, blocked));
  if (blocked) *blocked += ". A source that has to wait returns pending; its destructor does not wait.";
  report.add("calls_do_not_block", blocked);
}

}  // namespace
}  // namespace conformance

ConformanceReport check_adapter(std::function<std::shared_ptr<Adapter>()> factory,
                                const AdapterConformanceOptions& options) {
  using namespace conformance;
  const std::shared_ptr<Adapter> first = factory();
  if (first == nullptr) {
    ReportBuilder report("adapter");
    report.add("factory_makes_an_adapter", "the factory returned a null pointer");
    return report.take();
  }
  ReportBuilder report{std::string(first->provider())};
  report.add("provider_has_a_name", provider_has_a_name(*first));
  check_all(AdapterReader(std::move(factory), options), report);
  return report.take();
}

}  // namespace allm
