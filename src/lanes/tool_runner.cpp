#include "allm/tool_runner.hpp"

#include <utility>

#include "engine/engine_impl.hpp"
#include "engine/observed_source.hpp"
#include "lanes/lanes.hpp"
#include "runtime/blocking.hpp"
#include "tools/batch.hpp"
#include "tools/tool_check.hpp"
#include "tools/unknown_tool.hpp"

namespace allm {
namespace {

Result<std::unique_ptr<ToolBatchSource>> make_batch(std::vector<ToolCall> calls, std::vector<Tool> tools,
                                                    const CallOptions& options, const Engine& engine) {
  const ToolSet& engines_own = *EngineAccess::impl(engine).tools;
  auto run = resolve_run(engine, options, std::make_shared<const ToolSet>(std::move(tools), engines_own.cache()));
  if (!run) return std::unexpected(run.error());
  if (Status valid = check_tools(**run, lane_calls()); !valid) return std::unexpected(valid.error());
  if ((*run)->on_unknown_tool == OnUnknownTool::error) {
    if (auto unknown = find_unknown_tool(calls, *(*run)->tools)) return std::unexpected(*std::move(unknown));
  }
  return std::make_unique<ToolBatchSource>(*std::move(run), std::move(calls), lane_calls());
}

}  // namespace

bool ToolBatch::operator==(const ToolBatch&) const = default;

EventStream stream_tool_calls(std::vector<ToolCall> calls, std::vector<Tool> tools, const CallOptions& options,
                              const Engine& engine) {
  auto batch = make_batch(std::move(calls), std::move(tools), options, engine);
  if (!batch) return failed_stream(batch.error(), options);
  return observed_stream(*std::move(batch), options);
}

Result<ToolBatch> run_tool_calls(std::vector<ToolCall> calls, std::vector<Tool> tools, const CallOptions& options,
                                 const Engine& engine) {
  auto batch = make_batch(std::move(calls), std::move(tools), options, engine);
  if (!batch) return std::unexpected(batch.error());
  ToolBatchSource& source = **batch;
  ObservedSource observed(*std::move(batch), options);
  drain(observed, [](const Event&) {});
  return ToolBatch{source.take_messages(), source.halt()};
}

}  // namespace allm
