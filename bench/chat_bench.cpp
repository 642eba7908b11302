// Workloads (a), (b), (b1), (c), (c2) and (f): the loop, the tool runner and the fold.
#include <benchmark/benchmark.h>

#include "workloads.hpp"

namespace allm::bench {
namespace {

void a_chat(benchmark::State& state) {
  const auto script = chat_script();
  const std::vector<Tool> tools = {echo_tool()};
  const Thread thread = {user("hi")};
  for (auto _ : state) {
    const Engine engine({.adapter = std::make_shared<FakeAdapter>(script), .tools = tools});
    const Result<ChatResult> result = chat(engine, thread);
    if (!result || result->halted_reason() != halted::completed || result->thread.messages.size() != 4) {
      state.SkipWithError("wrong result");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(a_chat)->UseRealTime();

void tool_batch(benchmark::State& state, int count) {
  const std::vector<Tool> tools = {echo_tool()};
  std::vector<ToolCall> calls;
  for (int i = 0; i < count; ++i) {
    calls.push_back({.id = "c" + std::to_string(i), .name = "echo", .arguments = {{"x", i}}});
  }
  for (auto _ : state) {
    const Result<ToolBatch> batch = run_tool_calls(calls, tools);
    bool in_order = batch && batch->messages.size() == calls.size();
    for (std::size_t i = 0; in_order && i < calls.size(); ++i) {
      in_order = batch->messages[i].tool_call_id == calls[i].id;
    }
    if (!in_order) {
      state.SkipWithError("wrong result");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations() * count);
}
void b_tools8(benchmark::State& state) { tool_batch(state, 8); }
BENCHMARK(b_tools8)->UseRealTime();
void b1_tool(benchmark::State& state) { tool_batch(state, 1); }
BENCHMARK(b1_tool)->UseRealTime();

constexpr std::size_t kDeltas = 1000;
constexpr std::size_t kTextBytes = 6000;

void c_fold(benchmark::State& state) {
  const auto script = delta_script(kDeltas);
  const MessageList messages = {user("hi")};
  for (auto _ : state) {
    const Engine engine({.adapter = std::make_shared<FakeAdapter>(script)});
    StreamCollector collector;
    for (const Event& event : stream_generate(engine, {.messages = messages})) collector.apply(event);
    const Result<Response> response = collector.response();
    if (!response || response->output_text->size() != kTextBytes) {
      state.SkipWithError("wrong result");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kDeltas));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kTextBytes));
}
BENCHMARK(c_fold)->UseRealTime();

void c2_stream_fold(benchmark::State& state) {
  const auto script = delta_script(kDeltas);
  const Thread thread = {user("hi")};
  for (auto _ : state) {
    const Engine engine({.adapter = std::make_shared<FakeAdapter>(script)});
    StreamCollector collector(thread);
    for (const Event& event : stream(engine, thread)) collector.apply(event);
    const Result<ChatResult> result = collector.chat_result();
    if (!result || result->text().size() != kTextBytes) {
      state.SkipWithError("wrong result");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kDeltas));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kTextBytes));
}
BENCHMARK(c2_stream_fold)->UseRealTime();

void f_steps(benchmark::State& state) {
  const auto steps = static_cast<std::size_t>(state.range(0));
  const auto script = steps_script(steps);
  const std::vector<Tool> tools = {echo_tool()};
  const Thread thread = {user("hi")};
  for (auto _ : state) {
    const Engine engine({.adapter = std::make_shared<FakeAdapter>(script), .tools = tools});
    const Result<ChatResult> result = chat(engine, thread, {.max_turns = state.range(0) + 1});
    if (!result || result->steps.size() != steps + 1) {
      state.SkipWithError("wrong result");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(f_steps)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->UseRealTime();

}  // namespace
}  // namespace allm::bench
