#include "allm/agent_tool.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "allm/event.hpp"

#include "chat/chat_source.hpp"
#include "engine/observed_source.hpp"
#include "tools/polled_call.hpp"
#include "tools/tool_context_state.hpp"

namespace allm {
namespace {

// The settings of an agent tool, shared by its calls.
struct Agent {
  Engine engine;
  AgentToolOptions options;
};

Thread first_messages(const Agent& agent, const Json& arguments) {
  Thread thread;
  if (!agent.options.instructions.empty()) thread.messages.push_back(system(agent.options.instructions));
  const auto task = arguments.find("task");
  const bool has_task = task != arguments.end() && task->is_string();
  thread.messages.push_back(
      user(has_task ? task->get<std::string>() : arguments.dump(-1, ' ', false, Json::error_handler_t::replace)));
  return thread;
}

ToolCall with_arguments(ToolCall call, const Approval& decision) {
  if (decision.arguments()) {
    call.arguments = *decision.arguments();
    call.raw_arguments.reset();
  }
  return call;
}

// A gate that allows a call only if both gates do. `second` sees the arguments that `first` has set.
ApprovalGate both(ApprovalGate first, ApprovalGate second) {
  if (!first) return second;
  if (!second) return first;
  return [first = std::move(first), second = std::move(second)](std::span<const ToolCall> calls) {
    std::vector<Approval> decisions = first(calls);
    if (decisions.size() != calls.size()) return decisions;
    std::vector<ToolCall> rewritten;
    rewritten.reserve(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) rewritten.push_back(with_arguments(calls[i], decisions[i]));
    std::vector<Approval> more = second(rewritten);
    if (more.size() != calls.size()) return more;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const bool allowed = decisions[i].kind() == Approval::Kind::allow;
      const bool changes = more[i].kind() != Approval::Kind::allow || more[i].arguments();
      if (allowed && changes) decisions[i] = more[i];
    }
    return decisions;
  };
}

// One call: a run of the agent inside the calling run.
class AgentCall : public PolledCall {
 public:
  AgentCall(std::shared_ptr<const Agent> agent, Json arguments, const ToolContext& context, ToolCompletion done)
      : agent_(std::move(agent)),
        arguments_(std::move(arguments)),
        done_(std::move(done)),
        context_(context),
        parent_(ToolContextAccess::state(context).run) {}

  void poll(const Waker& waker) override {
    if (state_ == State::begin) open();
    while (state_ == State::running) {
      Poll polled = events_.poll(waker);
      if (polled.is_pending()) return;
      if (polled.is_end()) {
        answer(failed(error_ ? error_->message() : "it ended without a result"));
      } else {
        observe(polled.event());
      }
    }
  }

 private:
  enum class State : std::uint8_t { begin, running, over };

  void open() {
    state_ = State::running;
    const int depth = parent_->depth + 1;
    if (depth > agent_->options.max_depth) {
      return answer(failed("agents may call each other " + std::to_string(agent_->options.max_depth) + " deep"));
    }
    Result<std::shared_ptr<Run>> run = resolve_run(agent_->engine, options());
    if (!run) return answer(failed(run.error().message()));
    nest(**run, parent_);
    (*run)->approve = both((*run)->approve, parent_->approve);
    (*run)->shows_messages = static_cast<bool>((*run)->options.on_event);
    events_ = observed_stream(chat_source(*run, first_messages(*agent_, arguments_)), (*run)->options);
  }

  CallOptions options() {
    CallOptions options = agent_->options.options;
    options.request_id = parent_->request_id;
    options.session_id = parent_->options.session_id;
    options.traceparent = context_.traceparent();
    if (!options.context && !parent_->context->empty()) options.context = *parent_->context;
    const auto left =
        std::max(std::chrono::milliseconds(1),
                 std::chrono::ceil<std::chrono::milliseconds>(context_.deadline() - std::chrono::steady_clock::now()));
    has_own_deadline_ = options.run_timeout && *options.run_timeout < left;
    if (!has_own_deadline_) options.run_timeout = left;
    return options;
  }

  void observe(const Event& event) {
    if (const auto* started = event.get_if<ToolExecutionStarted>()) {
      context_.report_progress({{"agent", agent_->options.name}, {"tool", started->name}});
    } else if (const auto* completed = event.get_if<StepCompleted>()) {
      if (parent_->side_usage) parent_->side_usage->add(completed->step->response.usage);
    } else if (const auto* error = event.get_if<ErrorEvent>()) {
      error_ = error->error;
    } else if (const auto* chat = event.get_if<ChatCompleted>()) {
      finish(*chat->result);
    }
  }

  void finish(const ChatResult& result) {
    if (const auto* limit = std::get_if<ended::Limit>(&result.end)) {
      // The call's own deadline has passed, too, and settles the call.
      if (limit->which == ended::Limit::Which::run_timeout && !has_own_deadline_) {
        state_ = State::over;
        return;
      }
    }
    answer(outcome_of(result));
  }

  ToolOutcome outcome_of(const ChatResult& result) const {
    if (const auto* question = std::get_if<ended::AskUser>(&result.end)) {
      return ask_user(question->question, question->options);
    }
    if (const auto* halt = std::get_if<ended::Halted>(&result.end)) return allm::halt(halt->reason, halt->result);
    const bool is_answer =
        std::holds_alternative<ended::Completed>(result.end) || std::holds_alternative<ended::HaltWhen>(result.end);
    if (is_answer) return ok(result.text());
    if (std::holds_alternative<ended::Manual>(result.end)) return failed("one of its calls waits for the program");
    return failed(result.error() != nullptr ? result.error()->message() : "it was stopped: " + result.halted_reason());
  }

  ToolOutcome failed(const std::string& why) const {
    return failure("the agent '" + agent_->options.name + "' failed: " + why);
  }

  void answer(ToolOutcome outcome) {
    state_ = State::over;
    events_.drop();
    done_(std::move(outcome));
  }

  const std::shared_ptr<const Agent> agent_;
  const Json arguments_;
  const ToolCompletion done_;
  const ToolContext context_;
  const std::shared_ptr<const Run> parent_;
  State state_ = State::begin;
  bool has_own_deadline_ = false;
  EventStream events_;
  std::optional<Error> error_;
};

}  // namespace

Json AgentToolOptions::default_schema() {
  return {
      {"type", "object"},
      {"properties", {{"task", {{"type", "string"}, {"description", "What to do, with everything needed for it."}}}}},
      {"required", {"task"}},
      {"additionalProperties", false}};
}

Tool agent_tool(Engine engine, AgentToolOptions options) {
  const auto agent = std::make_shared<const Agent>(Agent{std::move(engine), std::move(options)});
  return {.name = agent->options.name,
          .description = agent->options.description,
          .schema = agent->options.schema,
          .handler =
              [agent](const Json& arguments, const ToolContext& context, ToolCompletion done) {
                auto call = std::make_unique<AgentCall>(agent, arguments, context, done);
                if (!ToolContextAccess::state(context).drive(std::move(call)))
                  done(failure("an agent tool needs a run to be part of"));
              },
          .timeout = agent->options.timeout};
}

}  // namespace allm
