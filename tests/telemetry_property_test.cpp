// Spans form a tree in every random run: each span that starts ends exactly once, its parent starts before it and ends
// after it, and all of them belong to one trace.
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

#include "tests/generators.hpp"

namespace allm::telemetry_property_test {
namespace {

using std::chrono::milliseconds;
using Record = CollectingTelemetry::Record;

const std::string kCaller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// Keeps the completion until its call has timed out.
void answer_late(ToolCompletion done) {
  static std::mutex mutex;
  static std::vector<ToolCompletion> kept;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(done));
  if (kept.size() < 64) return;
  kept.front()(ok(1));
  kept.erase(kept.begin());
}

std::vector<Tool> tools() {
  return {
      {.name = "quick",
       .handler =
           [](const Json&, const ToolContext& context) {
             context.report_progress({{"n", 1}});
             return ok(1);
           }},
      {.name = "fails", .handler = [](const Json&) { return failure("no"); }},
      {.name = "halts", .handler = [](const Json&) { return halt("own"); }},
      {.name = "asks", .handler = [](const Json&) { return ask_user("who?"); }},
      {.name = "later",
       .handler =
           [](const Json&, const ToolContext& context, ToolCompletion done) {
             context.engine().runtime()->post_after(milliseconds(0), [done = std::move(done)] { done(ok(1)); });
           }},
      {.name = "overdue",
       .handler = [](const Json&, ToolCompletion done) { answer_late(std::move(done)); },
       .timeout = milliseconds(1)},
  };
}

FakeCallScript random_call(gen::Random& random) {
  if (random.chance(6)) return {fake_preflight_error(random.any_of(AdapterError::Reason::unknown))};
  FakeCallScript script;
  if (random.chance()) script.push_back(fake_text("text"));
  if (random.chance(8)) {
    script.push_back(fake_error(AdapterError::Reason::network_error));
    return script;
  }
  if (random.chance(8)) script.push_back(fake_delay(milliseconds(random.below(2))));
  const std::vector<std::string> names = {"quick", "quick", "fails", "later", "halts", "asks", "unknown", "overdue"};
  const std::size_t calls = random.chance(3) ? 0 : random.below(4);
  for (std::size_t i = 0; i < calls; ++i) {
    script.push_back(fake_tool_call("c" + std::to_string(i), names[random.below(random.chance(8) ? 8 : 6)], {}));
  }
  script.push_back(fake_finish(calls > 0 ? FinishReason::tool_calls : FinishReason::stop));
  return script;
}

struct RandomRun {
  std::shared_ptr<CollectingTelemetry> telemetry = std::make_shared<CollectingTelemetry>();
  Engine engine;
  CallOptions options;
  std::stop_source stop;
  std::size_t reads = 0;  // events that are read before the stream is dropped or cancelled
  bool is_cancelled = false;
};

RandomRun random_run(gen::Random& random) {
  RandomRun run;
  FakeScript script;
  for (std::size_t i = 0; i < 6; ++i) script.push_back(random_call(random));
  run.engine = Engine({.adapter = fake(std::move(script)),
                       .model = "m",
                       .tools = tools(),
                       .retry = {.max_attempts = 2, .base_delay = milliseconds(0), .jitter = milliseconds(0)},
                       .telemetry = run.telemetry});
  if (random.chance()) run.options.traceparent = kCaller;
  if (random.chance(3)) run.options.on_unknown_tool = OnUnknownTool::report;
  if (random.chance(4)) run.options.on_tool_error = ToolErrorAction::halt;
  if (random.chance(4)) run.options.max_turns = 2;
  if (random.chance(4)) {
    run.options.structured_finalize = true;
    run.options.response_format = ResponseFormat::json_object();
  }
  run.options.cancel.now = run.stop.get_token();
  run.reads = random.chance() ? 1'000 : random.below(30);
  run.is_cancelled = random.chance();
  return run;
}

EventStream open(RandomRun& run, gen::Random& random) {
  switch (random.below(4)) {
    case 0:
      return stream_step(run.engine, {user("hi")}, run.options);
    case 1:
      return stream_generate(run.engine, {.messages = {user("hi")}}, run.options);
    default:
      return stream(run.engine, {user("hi")}, run.options);
  }
}

// Reads the stream to its end, or reads `run.reads` events and then drops or cancels the run.
void read(EventStream events, RandomRun& run) {
  for (std::size_t i = 0; i < run.reads; ++i) {
    if (!events.next()) return;
  }
  if (!run.is_cancelled) return;
  run.stop.request_stop();
  while (events.next()) {
  }
}

struct Interval {
  std::size_t start = 0;
  std::size_t end = 0;
  SpanKind kind = SpanKind::chat;
  SpanId parent = {};
};

// The spans by id, with the indices of the records of their start and end.
std::map<SpanId, Interval> intervals(const std::vector<Record>& records) {
  std::map<SpanId, Interval> spans;
  std::map<SpanId, int> ends;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    RC_ASSERT(record.trace_id == records[0].trace_id);
    RC_ASSERT(record.trace_id.is_set());
    if (record.phase == SpanPhase::start) {
      const bool is_new = spans.emplace(record.span_id, Interval{i, 0, record.span, record.parent_span_id}).second;
      RC_ASSERT(is_new);
      continue;
    }
    RC_ASSERT(spans.contains(record.span_id));
    RC_ASSERT(spans[record.span_id].parent == record.parent_span_id);
    RC_ASSERT(spans[record.span_id].kind == record.span);
    if (record.phase != SpanPhase::stop && record.phase != SpanPhase::exception) continue;
    spans[record.span_id].end = i;
    ++ends[record.span_id];
  }
  for (const auto& [id, span] : spans) RC_ASSERT(ends[id] == 1);
  return spans;
}

SpanKind parent_kind(SpanKind kind) {
  switch (kind) {
    case SpanKind::stream:
      return SpanKind::generate;
    case SpanKind::generate:
    case SpanKind::tool:
      return SpanKind::step;
    case SpanKind::step:
    case SpanKind::chat:
      break;
  }
  return SpanKind::chat;
}

RC_GTEST_PROP(Spans, FormATreeInEveryRun, (const gen::Source& source)) {
  gen::Random random(source);
  RandomRun run = random_run(random);
  read(open(run, random), run);
  const std::vector<Record> records = run.telemetry->records();
  const std::map<SpanId, Interval> spans = intervals(records);
  std::size_t roots = 0;
  for (const auto& [id, span] : spans) {
    const auto parent = spans.find(span.parent);
    if (parent == spans.end()) {
      ++roots;
      RC_ASSERT(to_hex(span.parent) == (run.options.traceparent ? "00f067aa0ba902b7" : "0000000000000000"));
      continue;
    }
    RC_ASSERT(parent->second.kind == parent_kind(span.kind));
    RC_ASSERT(parent->second.start < span.start);
    RC_ASSERT(span.end < parent->second.end);
  }
  RC_ASSERT(roots == (records.empty() ? 0U : 1U));
}

}  // namespace
}  // namespace allm::telemetry_property_test
