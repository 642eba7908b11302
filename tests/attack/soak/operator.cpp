#include <algorithm>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>

#include "allm/validate.hpp"

#include "tests/attack/soak/world.hpp"

namespace allm::soak {
namespace {

using std::chrono::milliseconds;

// Whether each call has a result, except for those that are pending.
bool is_answered(const Thread& thread, const std::vector<PendingToolCall>& pending) {
  std::vector<std::string> open;
  for (const PendingToolCall& call : pending) open.push_back(call.id);
  std::vector<std::string> unanswered;
  for (const Message& message : thread.messages) {
    for (const ToolCall& call : message.tool_calls) unanswered.push_back(call.id);
    if (message.role == Role::tool && std::erase(unanswered, *message.tool_call_id) != 1) return false;
  }
  std::ranges::sort(open);
  std::ranges::sort(unanswered);
  return open == unanswered;
}

std::vector<Approval> random_gate(std::span<const ToolCall> calls) {
  std::vector<Approval> decisions;
  for (const ToolCall& call : calls) {
    decisions.push_back(call.name == "gated"   ? Approval::suspend()
                        : call.name == "fails" ? Approval::deny("not now")
                                               : Approval::allow());
  }
  return decisions;
}

}  // namespace

const std::vector<std::string_view>& Operator::names() {
  static const auto* const list = new std::vector<std::string_view>{
      "chat",       "stream and drop", "cancel",  "short deadline", "step", "generate", "tool calls",
      "structured", "new runtime",     "session", "session stream", "http", "lanes"};
  return *list;
}

std::size_t Operator::run_one() {
  using Operation = void (Operator::*)();
  static constexpr Operation kOperations[] = {
      &Operator::chat_folded, &Operator::stream_and_drop, &Operator::cancel,         &Operator::short_deadline,
      &Operator::one_step,    &Operator::generate_one,    &Operator::tool_calls,     &Operator::structured,
      &Operator::new_runtime, &Operator::session,         &Operator::session_stream, &Operator::over_http,
      &Operator::lanes};
  std::size_t index = below(random_, std::size(kOperations));
  // Processes and threads are expensive.
  if ((index == 12 || index == 8) && !chance(random_, 8)) index = below(random_, 8);
  (this->*kOperations[index])();
  return index;
}

CallOptions Operator::options() {
  CallOptions options;
  options.max_turns = 1 + static_cast<int>(below(random_, 4));
  options.max_concurrency = 1 + static_cast<int>(below(random_, 4));
  options.tool_timeout = milliseconds(2 + below(random_, 20));
  options.on_unknown_tool = OnUnknownTool::report;
  if (chance(random_, 2)) options.approve = random_gate;
  if (chance(random_, 4)) options.on_event = [](const Event&) {};
  if (chance(random_, 4)) options.on_tool_progress = [](const ToolCall&, const Json&) {};
  return options;
}

Thread Operator::thread() { return {system("You are brief."), user("question " + std::to_string(random_()))}; }

void Operator::check(const ChatResult& result) {
  if (!validate(result.thread)) fail("the thread of a result is not valid");
  if (!is_answered(result.thread, result.manual_tool_calls())) fail("a call of a result is not answered");
}

void Operator::chat_folded() {
  const Result<ChatResult> result = chat(world_.any_model(random_), thread(), options());
  if (result && result->halted_reason() != "manual_tool_calls") check(*result);
}

void Operator::stream_and_drop() {
  ChatStream events = stream(world_.any_model(random_), thread(), options());
  for (std::size_t left = below(random_, 40); left > 0 && events.next().has_event(); --left) {
  }
}

void Operator::cancel() {
  std::stop_source stop;
  CallOptions call = options();
  std::stop_token* const levels[] = {&call.cancel.now, &call.cancel.after_tools, &call.cancel.after_step};
  *levels[below(random_, 3)] = stop.get_token();
  ChatStream events = stream(world_.any_model(random_), thread(), call);
  for (std::size_t left = below(random_, 10); left > 0 && events.next().has_event(); --left) {
  }
  if (chance(random_, 4)) {
    std::thread([stop]() mutable { stop.request_stop(); }).detach();
  } else {
    stop.request_stop();
  }
  (void)events.finish();
}

void Operator::short_deadline() {
  CallOptions call = options();
  call.run_timeout = milliseconds(1 + below(random_, 6));
  (void)chat(world_.any_model(random_), thread(), call);
}

void Operator::one_step() { (void)step(world_.any_model(random_), thread(), options()); }

void Operator::generate_one() { (void)generate(world_.any_model(random_), {.messages = thread().messages}, options()); }

void Operator::tool_calls() {
  const Engine& engine = world_.any_model(random_);
  std::vector<ToolCall> calls;
  for (std::size_t i = 1 + below(random_, 5); i > 0; --i) {
    calls.push_back(
        {.id = "c" + std::to_string(i), .name = engine.tools()[below(random_, engine.tools().size())].name});
  }
  if (chance(random_, 2)) {
    EventStream events = stream_tool_calls(calls, engine.tools(), options(), engine);
    for (std::size_t left = below(random_, 12); left > 0 && events.next().has_event(); --left) {
    }
    return;
  }
  const Result<ToolBatch> batch = run_tool_calls(calls, engine.tools(), options(), engine);
  if (batch && batch->messages.size() != calls.size()) fail("a batch has another number of results than calls");
}

void Operator::structured() {
  CallOptions call = options();
  call.response_format = ResponseFormat::json_schema("answer", {{"type", "object"}});
  call.structured_finalize = true;
  (void)chat(world_.any_model(random_), thread(), call);
}

void Operator::new_runtime() {
  const Engine engine = world_.on_new_runtime();
  ChatStream events = stream(engine, thread(), options());
  for (std::size_t left = below(random_, 20); left > 0 && events.next().has_event(); --left) {
  }
}

Session Operator::load() {
  const std::string text = world_.shelf().take(random_);
  if (text.empty()) return {.id = "s" + std::to_string(random_()), .context = {{"user", 1}}};
  const Result<Session> session = from_json<Session>(text);
  if (!session) fail("a saved session cannot be loaded", session.error().message());
  return *session;
}

void Operator::store(const Session& session) {
  if (const Status valid = validate(session); !valid) fail("a session is not valid", valid.error().message());
  if (!is_answered(session.thread, session.pending_tool_calls))
    fail("a call of a session is neither answered nor pending");
  Result<std::string> text = to_json(session);
  if (!text) fail("a session cannot be saved", text.error().message());
  world_.shelf().put(random_, *std::move(text));
}

std::vector<CallDecision> Operator::decisions(const Session& session) {
  std::vector<CallDecision> list;
  for (const PendingToolCall& call : session.pending_tool_calls) {
    const bool is_manual = call.kind == PendingKind::manual;
    if (!chance(random_, 4)) list.push_back({call.id, is_manual ? Approval::deny("no") : Approval::allow()});
  }
  return list;
}

SessionStream Operator::next_operation(const Engine& engine, const Session& session) {
  switch (session.status) {
    case SessionStatus::awaiting_tools:
      return session_stream_approve(engine, session, decisions(session), options());
    case SessionStatus::awaiting_user:
      return session_stream_reply(engine, session, "the first", options());
    default:
      return chance(random_, 2) ? session_stream_reply(engine, session, "go on", options())
                                : session_stream_continue(engine, session, user("and then?"), options());
  }
}

void Operator::session() {
  Session session = load();
  const Engine& engine = world_.any_model(random_);
  if (session.status == SessionStatus::error) {
    session = session_recover(session).value_or(Session{});
  } else if (session.status == SessionStatus::awaiting_tools && chance(random_, 2)) {
    const std::string id = session.pending_tool_calls.front().id;
    session = submit_tool_result(session, id, {{"by", "hand"}}).value_or(Session{});
  } else if (session.status == SessionStatus::idle && !session.thread.messages.empty() && chance(random_, 3)) {
    if (const Result<SessionStep> one = session_step(engine, session, options())) session = one->session;
  } else if (const Result<SessionTurn> turn = next_operation(engine, session).finish()) {
    session = turn->session;
  }
  store(session);
}

void Operator::session_stream() {
  const Session session = load();
  const Engine& engine = world_.any_model(random_);
  SessionStream events = next_operation(engine, session);
  for (std::size_t left = below(random_, 30); left > 0 && events.next().has_event(); --left) {
  }
  events.drop();
  store(events.session());
}

void Operator::over_http() {
  CallOptions call = options();
  call.run_timeout = milliseconds(5 + below(random_, 200));
  const Engine& engine = world_.http(random_);
  if (chance(random_, 2)) {
    (void)chat(engine, thread(), call);
    return;
  }
  ChatStream events = stream(engine, thread(), call);
  for (std::size_t left = below(random_, 12); left > 0 && events.next().has_event(); --left) {
  }
}

void Operator::lanes() {
  const Engine& engine = world_.lanes();
  const ToolCall call{
      .id = "c0", .name = chance(random_, 2) ? "in_worker" : "command", .arguments = {{"hang", chance(random_, 10)}}};
  EventStream events = stream_tool_calls({call}, engine.tools(), {}, engine);
  const bool drops = chance(random_, 4);
  while (events.next().has_event() && !drops) {
  }
}

}  // namespace allm::soak
