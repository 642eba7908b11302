#include "allm/tool_runner.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/engine_impl.hpp"
#include "engine/observed_source.hpp"
#include "lanes/lanes.hpp"
#include "runtime/blocking.hpp"
#include "tools/batch.hpp"
#include "tools/gate.hpp"
#include "tools/tool_check.hpp"
#include "tools/unknown_tool.hpp"

namespace allm {
namespace {

// Asks the gate when it is first polled, on the consumer's thread, and runs the calls.
class RunnerSource : public EventSource {
 public:
  RunnerSource(std::shared_ptr<const Run> run, std::vector<ToolCall> calls)
      : run_(std::move(run)), calls_(std::move(calls)) {}

  Poll poll(const Waker& waker) override {
    if (!batch_) {
      std::vector<Approval> decisions = ask_gate(*run_, calls_);
      batch_.emplace(run_, std::move(calls_), lane_calls(), std::move(decisions));
    }
    return batch_->poll(waker);
  }

  // After the end.
  ToolBatch take_result() { return {batch_->take_messages(), batch_->halt()}; }

 private:
  std::shared_ptr<const Run> run_;
  std::vector<ToolCall> calls_;
  std::optional<ToolBatchSource> batch_;
};

Result<std::unique_ptr<RunnerSource>> make_runner(std::vector<ToolCall> calls, std::vector<Tool> tools,
                                                  const CallOptions& options, const Engine& engine) {
  const ToolSet& engines_own = *EngineAccess::impl(engine).tools;
  auto run = resolve_run(engine, options, std::make_shared<const ToolSet>(std::move(tools), engines_own.cache()));
  if (!run) return std::unexpected(run.error());
  if (Status valid = check_tools(**run, lane_calls()); !valid) return std::unexpected(valid.error());
  if ((*run)->on_unknown_tool == OnUnknownTool::error) {
    if (auto unknown = find_unknown_tool(calls, *(*run)->tools)) return std::unexpected(*std::move(unknown));
  }
  return std::make_unique<RunnerSource>(*std::move(run), std::move(calls));
}

}  // namespace

bool ToolBatch::operator==(const ToolBatch&) const = default;

EventStream stream_tool_calls(std::vector<ToolCall> calls, std::vector<Tool> tools, const CallOptions& options,
                              const Engine& engine) {
  auto runner = make_runner(std::move(calls), std::move(tools), options, engine);
  if (!runner) return failed_stream(runner.error(), options);
  return observed_stream(*std::move(runner), options);
}

Result<ToolBatch> run_tool_calls(std::vector<ToolCall> calls, std::vector<Tool> tools, const CallOptions& options,
                                 const Engine& engine) {
  auto runner = make_runner(std::move(calls), std::move(tools), options, engine);
  if (!runner) return std::unexpected(runner.error());
  RunnerSource& source = **runner;
  auto observed = std::make_unique<ObservedSource>(*std::move(runner), options);
  if (drain(*observed, [](const Event&) {})) return source.take_result();
  [[maybe_unused]] const ObservedSource* leaked = observed.release();
  return std::unexpected(forked_error());
}

}  // namespace allm
