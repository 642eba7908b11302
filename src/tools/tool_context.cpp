#include <utility>

#include "allm/engine.hpp"

#include "tools/tool_context_state.hpp"

namespace allm {
namespace {

// The call of a test, without a run.
class TestCallState : public ToolContext::State {
 public:
  TestCallState(std::shared_ptr<const Run> run_settings, ToolCall tool_call, const TestContextOptions& options)
      : State(std::move(run_settings), std::move(tool_call)),
        stop_token_(options.stop_token),
        on_progress_(options.on_progress) {
    deadline = options.deadline;
    idempotency_key = options.idempotency_key;
  }
  void report_progress(Json progress) const override {
    if (on_progress_) on_progress_(progress);
  }
  std::stop_token stop_token() const override { return stop_token_; }

 private:
  const std::stop_token stop_token_;
  const std::function<void(const Json&)> on_progress_;
};

}  // namespace

const Json& ToolContext::context() const { return *state_->run->context; }
const std::optional<std::string>& ToolContext::session_id() const { return state_->run->options.session_id; }
const std::string& ToolContext::request_id() const { return state_->run->request_id; }
const std::string& ToolContext::idempotency_key() const { return state_->idempotency_key; }
const ToolCall& ToolContext::tool_call() const { return state_->call; }
const Engine& ToolContext::engine() const { return state_->run->engine; }
std::optional<std::string> ToolContext::traceparent() const {
  TraceParent parent = state_->run->trace;
  if (state_->span.id.is_set()) parent.span_id = state_->span.id;
  if (!parent.span_id.is_set()) return std::nullopt;
  return to_string(parent);
}
std::stop_token ToolContext::stop_token() const { return state_->stop_token(); }
std::chrono::steady_clock::time_point ToolContext::deadline() const { return state_->deadline; }
void ToolContext::report_progress(Json progress) const { state_->report_progress(std::move(progress)); }

ToolContext ToolContext::for_testing(TestContextOptions options) {
  auto run = std::make_shared<Run>();
  run->engine = options.engine != nullptr ? *options.engine : default_engine();
  run->options.session_id = std::move(options.session_id);
  run->request_id = std::move(options.request_id);
  run->context = std::make_shared<const Json>(std::move(options.context));
  if (options.call.id.empty()) options.call.id = "call_1";
  if (options.call.name.empty()) options.call.name = options.tool;
  ToolCall call = std::move(options.call);
  return ToolContext(std::make_shared<TestCallState>(std::move(run), std::move(call), options));
}

}  // namespace allm
