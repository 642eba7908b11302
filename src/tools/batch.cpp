#include "tools/batch.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "allm/tool_help.hpp"

#include "data/tool_errors.hpp"
#include "data/utf8.hpp"
#include "engine/engine_impl.hpp"
#include "runtime/parker.hpp"
#include "runtime/runtime_impl.hpp"
#include "tools/arguments.hpp"
#include "tools/compact.hpp"
#include "tools/gate.hpp"
#include "tools/halt.hpp"
#include "tools/result_content.hpp"
#include "tools/unknown_tool.hpp"

namespace allm {
namespace {

// Handlers wait more than they compute, so the calls of a usual step run concurrently even on two cores.
constexpr std::size_t kUsualCalls = 8;

std::size_t concurrency(const Run& run, std::size_t calls) {
  // Called once, because it reads files of the system.
  static const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wanted = run.max_concurrency ? static_cast<std::size_t>(*run.max_concurrency)
                                                 : std::min(calls, std::max(kUsualCalls, 2 * cores));
  return std::max<std::size_t>(1, wanted);
}

}  // namespace

std::string failure_content(const Run& run, const ToolFailure& failure) {
  JsonToolResultEncoder built_in;
  if (!run.encoder) return built_in.encode_failure(failure);
  try {
    return run.encoder->encode_failure(failure);
  } catch (...) {
    // The model must get the failure in any case.
    return built_in.encode_failure(failure);
  }
}

ToolBatchSource::ToolBatchSource(std::shared_ptr<const Run> run, std::vector<ToolCall> calls,
                                 const OutsideCalls& outside, std::vector<Approval> decisions, SpanId span)
    : run_(std::move(run)),
      outside_(outside),
      calls_(std::move(calls)),
      decisions_(std::move(decisions)),
      span_(span),
      slots_(calls_.size()),
      inbox_(std::make_shared<BatchInbox>()),
      limit_(concurrency(*run_, calls_.size())) {
  for (std::size_t i = 0; i < decisions_.size(); ++i) calls_[i] = approved_call(std::move(calls_[i]), decisions_[i]);
}

ToolBatchSource::~ToolBatchSource() {
  for (Slot& slot : slots_) {
    if (slot.pending) slot.pending->abandon();
  }
  inbox_->close();
}

Poll ToolBatchSource::poll(const Waker& waker) {
  while (true) {
    if (ready_at_ < ready_.size()) return std::move(ready_[ready_at_++]);
    ready_.clear();
    ready_at_ = 0;
    if (run_->cancel) stop_if_cancelled();
    // Calls that are answered at once do not count as running, so their number is limited, too.
    for (std::size_t n = 0; n < limit_ && next_ < calls_.size() && running_ < limit_; ++n) start(next_++);
    if (!waiting_.empty()) run_committed();
    if (!ready_.empty()) continue;
    if (running_ == 0) return Poll::end();
    if (!inbox_->take(settled_, progress_, waker)) {
      const bool cancelled = run_->cancel && run_->cancel->watch(waker) == CancelSignal::Level::now;
      if (cancelled && !abandoned_) continue;
      await(waker);
      return Poll::pending();
    }
    poll_driven();
    for (const BatchInbox::Progress& report : std::exchange(progress_, {})) {
      if (slots_[report.index].pending) run_->options.on_tool_progress(calls_[report.index], report.report);
    }
    for (const std::size_t index : settled_) {
      const std::shared_ptr<PendingCall> call = std::exchange(slots_[index].pending, nullptr);
      call->disarm();
      slots_[index].polled.reset();
      --running_;
      finish(index, recorded(index, call->take_outcome(), RunJournal::Answered::by_handler));
    }
    settled_.clear();
  }
}

void ToolBatchSource::poll_driven() {
  std::vector<std::size_t> ready = inbox_->take_ready();
  for (BatchInbox::Driven& driven : inbox_->take_driven()) {
    Slot& slot = slots_[driven.index];
    if (!slot.pending) continue;
    slot.polled = std::move(driven.call);
    slot.waker = Waker([inbox = inbox_, index = driven.index] { inbox->ready(index); });
    ready.push_back(driven.index);
  }
  for (const std::size_t index : ready) {
    if (slots_[index].polled) slots_[index].polled->poll(slots_[index].waker);
  }
}

void ToolBatchSource::await(const Waker& waker) {
  // Calls that have ended are forgotten, so that a wait costs no more than the calls that run.
  std::erase_if(started_, [this](std::size_t index) { return slots_[index].pending == nullptr; });
  for (const std::size_t index : started_) {
    const Slot& slot = slots_[index];
    const std::shared_ptr<Loop>* loop = slot.pending->awaited_loop();
    if (loop == nullptr) continue;
    // With a single running call, the waiting thread can drive the loop and gets the answer directly.
    Parker* const waiter = running_ == 1 ? WakerAccess::waiting_parker(waker) : nullptr;
    if (waiter != nullptr) waiter->drive_in_next_wait(*loop);
    slot.pending->await(waiter != nullptr);
  }
}

void ToolBatchSource::stop_if_cancelled() {
  if (abandoned_ || run_->cancel->level() != CancelSignal::Level::now) return;
  abandoned_ = true;
  for (const Waiting& waiting : std::exchange(waiting_, {})) {
    --running_;
    refuse(waiting.index, ToolFailure{not_run_error(calls_[waiting.index], "the run was cancelled")});
  }
  for (std::size_t i = 0; i < next_; ++i) {
    // A call that is already settled keeps its answer; the inbox reports it.
    if (!slots_[i].pending || !slots_[i].pending->abandon()) continue;
    slots_[i].pending.reset();
    slots_[i].polled.reset();
    --running_;
    refuse(i, ToolFailure{tool_error(calls_[i], ToolError::Reason::cancelled,
                                     "tool '" + calls_[i].name + "' was stopped: the run was cancelled")});
  }
}

std::optional<ToolFailure> ToolBatchSource::refused(std::size_t index) const {
  const ToolCall& call = calls_[index];
  const auto not_run = [&call](const char* why) { return ToolFailure{not_run_error(call, why)}; };
  if (!decisions_.empty()) {
    const Approval& decision = decisions_[index];
    if (decision.kind() == Approval::Kind::suspend) return not_run("it waits for approval");
    if (decision.kind() != Approval::Kind::allow) return denied(call, decision);
  }
  if (run_->cancel_level() >= CancelSignal::Level::after_tools) return not_run("the run was cancelled");
  if (run_->is_overtime()) return not_run("the run's time was over");
  return std::nullopt;
}

std::optional<ToolOutcome> ToolBatchSource::answer_at_once(const ToolCall& call, const Tool*& tool,
                                                           Json& arguments) const {
  const auto failed = [&call](ToolError::Reason reason, std::string message) {
    return ToolFailure{tool_error(call, reason, std::move(message))};
  };
  tool = run_->tools->find(call.name);
  const bool asks_help = calls_tool_help(call, *run_->tools);
  if (tool == nullptr && !asks_help) {
    return failed(ToolError::Reason::unknown_tool, unknown_tool_message(call.name, *run_->tools));
  }
  Result<Json> parsed = call_arguments(call, EngineAccess::impl(run_->engine).options.answer_limits);
  if (!parsed) return ToolFailure{parsed.error()};
  arguments = *std::move(parsed);
  if (asks_help) return ok(answer_tool_help(run_->tools->tools(), arguments));
  if (tool->compact) {
    if (auto missing = missing_compact_arguments(*tool, arguments)) return failure(*std::move(missing));
  }
  if (tool->validate_arguments && EngineAccess::impl(run_->engine).options.validate_arguments) {
    if (Status fits = check_arguments(*run_->tools, *tool, call, arguments); !fits) return ToolFailure{fits.error()};
  }
  if (!tool->handler && !run_->executor && !runs_outside(*tool)) return ToolFailure{no_handler_error(call)};
  const Pool& pool = *RuntimeAccess::impl(*run_->engine.runtime()).pool;
  if ((run_->executor || !runs_outside(*tool)) && pool.full()) {
    return ToolFailure{overloaded_error(call, pool.max_set_aside())};
  }
  return std::nullopt;
}

void ToolBatchSource::start(std::size_t index) {
  if (run_->journal && replay(index)) return;
  const ToolCall& call = calls_[index];
  const Tool* tool = nullptr;
  Json arguments = Json::object();
  std::optional<ToolFailure> refusal = refused(index);
  std::optional<ToolOutcome> answer;
  auto how = RunJournal::Answered::as_refused;
  if (!refusal) answer = answer_at_once(call, tool, arguments);
  if (!refusal && !answer && run_->ledger && !run_->ledger->take_tool_call()) {
    refusal = ToolFailure{not_run_error(
        call, "the run's limit of " + std::to_string(run_->ledger->tool_call_limit()) + " tool calls is reached")};
    how = RunJournal::Answered::over_limit;
  }
  ready_.emplace_back(
      ToolExecutionStarted{.id = call.id,
                           .name = call.name,
                           .arguments = (refusal || answer) && arguments.empty() ? call.arguments : arguments,
                           .rewritten = is_rewritten(index)});
  if (refusal) return refuse(index, *refusal, how);
  if (answer) return finish(index, recorded(index, *std::move(answer), RunJournal::Answered::at_once));
  ++running_;
  if (!run_->journal) return run_call(index, *tool, std::move(arguments));
  waiting_.push_back({index, tool, std::move(arguments), run_->journal->record_dispatched(call)});
}

void ToolBatchSource::run_call(std::size_t index, const Tool& tool, Json arguments) {
  auto pending =
      std::make_shared<PendingCall>(run_, tool, calls_[index], std::move(arguments), inbox_, index, outside_, span_);
  if (run_->journal) pending->idempotency_key = run_->journal->idempotency_key(calls_[index]);
  const std::chrono::milliseconds least(1);
  pending->dispatch(std::max(least, std::min(tool.timeout.value_or(run_->tool_timeout), run_->time_left())));
  slots_[index].pending = std::move(pending);
  started_.push_back(index);
}

void ToolBatchSource::run_committed() {
  std::vector<Waiting> left;
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    if (!run_->journal->is_committed(waiting.position)) {
      left.push_back(std::move(waiting));
    } else if (const std::optional<ToolFailure> refusal = refused(waiting.index)) {
      --running_;
      refuse(waiting.index, *refusal);
    } else {
      run_call(waiting.index, *waiting.tool, std::move(waiting.arguments));
    }
  }
  waiting_ = std::move(left);
}

bool ToolBatchSource::replay(std::size_t index) {
  using Answered = RunJournal::Answered;
  const ToolCall& call = calls_[index];
  const Tool* const tool = run_->tools->find(call.name);
  std::optional<RunJournal::RecordedAnswer> answer = run_->journal->recorded_answer(call);
  if (!answer && run_->journal->was_interrupted(call) &&
      (tool == nullptr || tool->on_interrupted != OnInterrupted::retry)) {
    answer = {ToolFailure{interrupted_error(call)}, Answered::by_handler};
    recorded(index, answer->outcome, answer->how);
  }
  if (!answer) return false;
  const bool counts = answer->how == Answered::by_handler || answer->how == Answered::over_limit;
  if (counts && run_->ledger) run_->ledger->take_tool_call();
  const Result<Json> parsed = call_arguments(call, EngineAccess::impl(run_->engine).options.answer_limits);
  ready_.emplace_back(ToolExecutionStarted{.id = call.id,
                                           .name = call.name,
                                           .arguments = parsed ? *parsed : call.arguments,
                                           .rewritten = is_rewritten(index)});
  const auto* failure = std::get_if<ToolFailure>(&answer->outcome);
  if (answer->how >= Answered::as_refused && failure != nullptr) {
    show_refusal(index, *failure);
  } else {
    finish(index, std::move(answer->outcome));
  }
  return true;
}

ToolOutcome ToolBatchSource::recorded(std::size_t index, ToolOutcome outcome, RunJournal::Answered how) const {
  if (!run_->journal) return outcome;
  return run_->journal->record_answer(calls_[index], {std::move(outcome), how});
}

void ToolBatchSource::finish(std::size_t index, ToolOutcome outcome) {
  if (const auto* value = std::get_if<ToolOk>(&outcome)) {
    Result<Content> content = encode(index, *value);
    if (!content) return finish_failure(index, ToolFailure{content.error()});
    return succeed(index, std::move(outcome), *std::move(content));
  }
  if (const auto* failure = std::get_if<ToolFailure>(&outcome)) return finish_failure(index, *failure);
  const ToolCall& call = calls_[index];
  if (auto* question = std::get_if<AskUser>(&outcome)) {
    if (!is_utf8(question->question) || !question->options.is_object() || !write_json(question->options)) {
      return finish_failure(index, ToolFailure{invalid_question_error(call)});
    }
    AskUserRequested request{call.id, call.name, question->question, question->options};
    note_halt(index, step_end(request));
    ready_.emplace_back(ToolExecutionCompleted{call.id, call.name, std::move(outcome)});
    ready_.emplace_back(std::move(request));
    answer(index, tool_result(call.id, std::string(kAwaitingUser)));
    return;
  }
  auto& halt = std::get<Halt>(outcome);
  if (halt.reason.empty() || !is_utf8(halt.reason) || is_reserved_halt_reason(halt.reason)) {
    const Json reason = is_utf8(halt.reason) ? Json(halt.reason) : Json(nullptr);
    return finish_failure(
        index, ToolFailure{tool_error(call, ToolError::Reason::invalid_return,
                                      "the handler of tool '" + call.name + "' halted with the reserved reason '" +
                                          (reason.is_null() ? "" : halt.reason) + "'; use a reason of your own",
                                      {{"reserved_halt_atom", reason}})});
  }
  Result<std::string> content = encode(index, halt.result);
  if (!content) return finish_failure(index, ToolFailure{content.error()});
  ToolHalt event{.tool_call_id = call.id, .reason = halt.reason, .result = halt.result, .content = *content};
  note_halt(index, step_end(event));
  ready_.emplace_back(ToolExecutionCompleted{call.id, call.name, std::move(outcome)});
  ready_.emplace_back(std::move(event));
  answer(index, tool_result(call.id, *std::move(content)));
}

void ToolBatchSource::finish_failure(std::size_t index, const ToolFailure& failure) {
  if (const auto* action = std::get_if<ToolErrorAction>(&run_->on_tool_error)) {
    return fail(index, failure, *action == ToolErrorAction::halt);
  }
  ToolErrorDecision decision;
  try {
    decision = std::get<ToolErrorFunction>(run_->on_tool_error)(calls_[index], failure);
  } catch (const std::exception& exception) {
    const Error error = tool_error(calls_[index], ToolError::Reason::invalid_return,
                                   std::string("the on_tool_error function threw: ") + exception.what());
    return fail(index, ToolFailure{error}, true, error);
  } catch (...) {
    const Error error = tool_error(calls_[index], ToolError::Reason::invalid_return,
                                   "the on_tool_error function threw something that is no std::exception");
    return fail(index, ToolFailure{error}, true, error);
  }
  switch (decision.kind()) {
    case ToolErrorDecision::Kind::halt:
      return fail(index, failure, true);
    case ToolErrorDecision::Kind::tell_model:
      return fail(index, failure, false);
    case ToolErrorDecision::Kind::none:
      return fail(index,
                  ToolFailure{tool_error(
                      calls_[index], ToolError::Reason::invalid_return,
                      "the on_tool_error function made no decision; return continue_with, tell_model or halt")},
                  true);
    case ToolErrorDecision::Kind::continue_with: {
      Result<std::string> content = encode(index, decision.value());
      if (!content) return fail(index, ToolFailure{content.error()}, true);
      return succeed(index, ok(decision.value()), *std::move(content));
    }
  }
}

void ToolBatchSource::succeed(std::size_t index, ToolOutcome outcome, Content content) {
  const ToolCall& call = calls_[index];
  if (run_->ledger) run_->ledger->note_outcome(call, std::nullopt);
  ready_.emplace_back(ToolExecutionCompleted{call.id, call.name, std::move(outcome)});
  ToolResultEncoded encoded{.id = call.id};
  if (const auto* text = std::get_if<std::string>(&content)) encoded.content = *text;
  if (const auto* parts = std::get_if<std::vector<Part>>(&content)) encoded.parts = *parts;
  ready_.emplace_back(std::move(encoded));
  answer(index, tool_result(call.id, std::move(content)));
}

void ToolBatchSource::fail(std::size_t index, const ToolFailure& failure, bool halts,
                           std::optional<Error> policy_error) {
  const ToolCall& call = calls_[index];
  std::string content = failure_content(*run_, failure);
  if (run_->ledger) run_->ledger->note_outcome(call, content);
  ready_.emplace_back(ToolExecutionCompleted{call.id, call.name, failure});
  if (halts) {
    ToolHalt halt{.tool_call_id = call.id,
                  .reason = std::string(halted::tool_error),
                  .content = content,
                  .policy_error = std::move(policy_error)};
    note_halt(index, step_end(halt));
    ready_.emplace_back(std::move(halt));
  } else {
    ready_.emplace_back(ToolResultEncoded{.id = call.id, .content = content, .is_error = true});
  }
  answer(index, failed_result(call.id, std::move(content)));
}

void ToolBatchSource::refuse(std::size_t index, const ToolFailure& failure, RunJournal::Answered how) {
  if (run_->journal) recorded(index, failure, how);
  show_refusal(index, failure);
}

void ToolBatchSource::show_refusal(std::size_t index, const ToolFailure& failure) {
  const ToolCall& call = calls_[index];
  std::string content = failure_content(*run_, failure);
  ready_.emplace_back(ToolExecutionCompleted{call.id, call.name, failure});
  ready_.emplace_back(ToolResultEncoded{.id = call.id, .content = content, .is_error = true});
  answer(index, failed_result(call.id, std::move(content)));
}

void ToolBatchSource::answer(std::size_t index, Message message) {
  if (is_rewritten(index)) message.metadata["rewritten_arguments"] = calls_[index].arguments;
  slots_[index].message = std::move(message);
}

void ToolBatchSource::note_halt(std::size_t index, StepEnd end) {
  if (halt_ && halt_index_ < index) return;
  halt_ = std::move(end);
  halt_index_ = index;
}

Result<std::string> ToolBatchSource::encode(std::size_t index, const Json& value) const {
  std::string message;
  try {
    Result<std::string> content = run_->encoder ? run_->encoder->encode(value) : JsonToolResultEncoder().encode(value);
    if (content) return content;
    message = content.error().message();
  } catch (const std::exception& exception) {
    message = exception.what();
  } catch (...) {
    message = "the encoder threw something that is no std::exception";
  }
  return std::unexpected(unwritable_result_error(calls_[index], message));
}

Result<Content> ToolBatchSource::encode(std::size_t index, const ToolOk& outcome) const {
  if (outcome.parts.empty()) return encode(index, outcome.value);
  Result<Content> content = content_of_parts(outcome.parts);
  if (!content) return std::unexpected(unwritable_result_error(calls_[index], content.error().message()));
  return content;
}

std::vector<Message> ToolBatchSource::take_messages() {
  std::vector<Message> messages;
  messages.reserve(slots_.size());
  for (Slot& slot : slots_) messages.push_back(std::move(slot.message));
  return messages;
}

}  // namespace allm
