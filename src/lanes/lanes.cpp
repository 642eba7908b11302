#include "lanes/lanes.hpp"

#include <utility>

#include "data/immortal.hpp"
#include "lanes/command_call.hpp"
#include "lanes/command_line.hpp"
#include "lanes/worker_wire.hpp"
#include "process/helper.hpp"
#include "runtime/runtime_impl.hpp"

namespace allm {
namespace {

class LaneCalls : public OutsideCalls {
 public:
  std::expected<void, std::string> check(const Runtime& runtime) const override {
    const auto executable = find_helper(runtime.options().helper);
    if (!executable) return std::unexpected(executable.error());
    return {};
  }
  std::optional<std::string> command_error(const Tool& tool) const override {
    return tool.command ? template_error(*tool.command, tool.schema) : std::nullopt;
  }
  std::shared_ptr<OutsideCall> prepare(Runtime& runtime, const Tool& tool, const Json& arguments,
                                       const ToolContext& context, ToolCompletion done) const override {
    return RuntimeAccess::impl(runtime).service<Lanes>()->prepare(tool, arguments, context, std::move(done));
  }
};

}  // namespace

const OutsideCalls& lane_calls() {
  static const LaneCalls& calls = immortal<LaneCalls>();
  return calls;
}

Lanes::Lanes(std::shared_ptr<Loop> loop, const RuntimeOptions& options)
    : memory_protection_(options.protect_memory),
      loop_(std::move(loop)),
      supervisor_(std::make_shared<Supervisor>(loop_, options.helper, options.containment)),
      workers_(std::make_shared<WorkerPool>(loop_, supervisor_, options)) {}

Lanes::~Lanes() {
  supervisor_->close();
  workers_->close();
}

std::shared_ptr<WorkerCall> Lanes::worker_call(const ToolLimits& limits, const std::string& entry, const Json& data,
                                               const Json& arguments, const ToolContext& context, ToolCompletion done) {
  auto call = std::make_shared<WorkerCall>(loop_, workers_, context, std::move(done), limits);
  Result<std::string> text = write_worker_request(entry, data, limits, arguments, context);
  if (!text) {
    call->fail(ToolError::Reason::invalid_arguments,
               "the call of tool '" + call->tool_name + "' cannot be sent to a worker: " + text.error().message());
    return nullptr;
  }
  if (text->size() > kMaxCallBytes) {
    call->fail(ToolError::Reason::invalid_arguments,
               "the call of tool '" + call->tool_name + "' cannot be sent to a worker: it has " +
                   std::to_string(text->size()) + " bytes, and a worker accepts at most " +
                   std::to_string(kMaxCallBytes));
    return nullptr;
  }
  call->id = new_call_id();
  call->frame = make_worker_frame(WorkerMessageKind::call, call->id, *text);
  return call;
}

std::shared_ptr<LaneCall> Lanes::prepare(const Tool& tool, const Json& arguments, const ToolContext& context,
                                         ToolCompletion done) {
  if (mark_.is_of_parent_process()) {
    done(ToolFailure{forked_error()});
    return nullptr;
  }
  if (tool.command) {
    return std::make_shared<CommandCall>(loop_, supervisor_, context, std::move(done), *tool.command, tool.limits,
                                         arguments);
  }
  return worker_call(tool.limits, {}, nullptr, arguments, context, std::move(done));
}

void Lanes::run_entry(const std::string& entry, const Json& data, const ToolLimits& limits, const Json& arguments,
                      const ToolContext& context, ToolCompletion done) {
  if (const auto call = worker_call(limits, entry, data, arguments, context, std::move(done))) call->start();
}

}  // namespace allm
