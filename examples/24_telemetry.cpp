// The spans of a run: as a tree for people, as log lines, and for OpenTelemetry.
//
// The run is part of a trace that began elsewhere: in a real program, the `traceparent` comes with an incoming request.
#include <chrono>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

allm::FakeScript script() {
  return {
      {allm::fake_tool_call("call_1", "flights", {{"to", "Lisbon"}}),
       allm::fake_tool_call("call_2", "hotels", {{"in", "Lisbon"}}), allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("Fly at nine and stay at the Tejo."), allm::fake_finish(allm::FinishReason::stop)},
  };
}

// [telemetry-exporter]
// A finished span, with the fields that OpenTelemetry's exporters need.
struct FinishedSpan {
  std::string trace_id;  // 32 hexadecimal digits
  std::string span_id;   // 16
  std::string parent_span_id;
  std::string name;
  std::chrono::system_clock::time_point start;
  std::chrono::system_clock::time_point end;
  bool failed = false;
};

// Collects finished spans. A real sink passes them to an exporter, in batches and on a thread of its own.
class Exporter : public allm::Telemetry {
 public:
  void on_event(const allm::TelemetryEvent& event) override {
    if (event.phase != allm::SpanPhase::stop && event.phase != allm::SpanPhase::exception) return;
    FinishedSpan span{
        .trace_id = allm::to_hex(event.trace_id),
        .span_id = allm::to_hex(event.span_id),
        .parent_span_id = event.parent_span_id.is_set() ? allm::to_hex(event.parent_span_id) : "",
        .name = span_name(event),
        .start = event.time - std::chrono::duration_cast<std::chrono::system_clock::duration>(event.duration),
        .end = event.time,
        .failed = event.phase == allm::SpanPhase::exception,
    };
    const std::lock_guard lock(mutex_);  // events come from several threads
    spans_.push_back(std::move(span));
  }

  // "allm.step", "allm.tool flights"
  static std::string span_name(const allm::TelemetryEvent& event) {
    const std::string name = allm::name_of(event);
    const std::string span = name.substr(0, name.rfind('.'));  // without the phase
    return event.tool_call != nullptr ? span + " " + event.tool_call->name : span;
  }

  std::vector<FinishedSpan> spans() const {
    const std::lock_guard lock(mutex_);
    return spans_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<FinishedSpan> spans_;
};
// [/telemetry-exporter]

// [telemetry-both]
// Passes every event to several sinks.
class Tee : public allm::Telemetry {
 public:
  explicit Tee(std::vector<std::shared_ptr<allm::Telemetry>> sinks) : sinks_(std::move(sinks)) {}
  void on_event(const allm::TelemetryEvent& event) override {
    for (const auto& sink : sinks_) sink->on_event(event);
  }

 private:
  std::vector<std::shared_ptr<allm::Telemetry>> sinks_;
};
// [/telemetry-both]

}  // namespace

int main() {
  // [telemetry-handler]
  const allm::Tool flights = allm::tool({
      .name = "flights",
      .description = "Flights to a city.",
      .handler =
          [](const allm::Json&, const allm::ToolContext& context) {
            // A request to another service carries this header, so that the spans of that service belong to this call.
            const std::string header = "traceparent: " + context.traceparent().value_or("");
            return allm::ok({{"departs", "09:10"}, {"sent", header.size()}});
          },
  });
  // [/telemetry-handler]
  const allm::Tool hotels = allm::tool({
      .name = "hotels",
      .description = "Hotels in a city.",
      .handler = [](const allm::Json&) { return allm::ok({{"name", "Tejo"}}); },
  });

  // [telemetry-run]
  const auto collected = std::make_shared<allm::CollectingTelemetry>();
  const auto exporter = std::make_shared<Exporter>();
  const auto log = std::make_shared<allm::LogTelemetry>([](const std::string& line) { std::cerr << line << '\n'; });
  const allm::Engine engine({
      .adapter = allm::fake(script()),
      .model = "demo",
      .tools = {flights, hotels},
      .telemetry = std::make_shared<Tee>(std::vector<std::shared_ptr<allm::Telemetry>>{collected, exporter, log}),
  });
  const allm::Result<allm::ChatResult> result =
      allm::chat(engine, {allm::user("A weekend in Lisbon, please.")},
                 {.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"});
  // [/telemetry-run]
  if (!result) return fail(result.error().message());

  const std::string tree = collected->tree();
  std::cout << tree;
  const std::string expected =
      "chat\n"
      "  step\n"
      "    generate demo\n"
      "      stream\n"
      "    tool flights\n"
      "    tool hotels\n"
      "  step\n"
      "    generate demo\n"
      "      stream\n";
  if (tree != expected) return fail("the tree of the run");

  const std::vector<FinishedSpan> spans = exporter->spans();
  for (const FinishedSpan& span : spans) {
    std::cout << span.trace_id << ' ' << span.span_id << ' ' << span.name << '\n';
    if (span.trace_id != "4bf92f3577b34da6a3ce929d0e0e4736") return fail("the caller's trace");
  }
  if (spans.size() != 9) return fail("nine spans");
  // The outermost span ends last; it is a child of the caller's span.
  return spans.back().parent_span_id == "00f067aa0ba902b7" ? 0 : fail("the caller's span is the parent");
}
