#include "testing/scenario/runner.hpp"

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allm/chat.hpp"
#include "allm/collector.hpp"
#include "allm/fake.hpp"
#include "allm/serialize.hpp"
#include "allm/session_ops.hpp"
#include "allm/tool_runner.hpp"
#include "allm/validate.hpp"

#include "testing/scenario/call_options.hpp"
#include "testing/scenario/observe.hpp"

namespace allm::scenario {
namespace {

Engine make_engine(const Scenario& scenario) {
  return Engine({.adapter = fake(scenario.scripts),
                 .model = scenario.model,
                 .tools = scenario.tools,
                 .params = scenario.params,
                 .context = scenario.context,
                 .retry = RetryPolicy::off()});
}

bool is_session_operation(const Operation& operation) {
  return std::holds_alternative<SessionStartOperation>(operation.what) ||
         std::holds_alternative<SessionReplyOperation>(operation.what) ||
         std::holds_alternative<SessionContinueOperation>(operation.what) ||
         std::holds_alternative<SessionStepOperation>(operation.what);
}

}  // namespace

Runner::Runner(const Scenario& scenario) : scenario_(scenario), engine_(make_engine(scenario)) {}

Json Runner::run(const Operation& operation) {
  events_ = Json::array();
  Json observation;
  try {
    Result<CallOptions> options = make_call_options(scenario_.options, operation.options);
    observation = options ? std::visit(
                                [&](const auto& what) {
                                  return run(what, Call{.operation = operation, .options = *std::move(options)});
                                },
                                operation.what)
                          : refused(operation, options.error());
  } catch (const std::exception& exception) {
    observation = {{"raised", exception.what()}};
  }
  if (operation.streamed) observation["events"] = std::move(events_);
  return observation;
}

Json Runner::refused(const Operation& operation, const Error& error) {
  if (operation.streamed && operation.take != 0) events_.push_back(observe(Event(ErrorEvent{error})));
  if (!operation.take) return {{"error", observe(error)}};
  if (is_session_operation(operation)) return {{"ok", observe(session_, nullptr)}};
  return Json::object();
}

template <class T>
Json Runner::finished(const Result<T>& result) {
  if (!result) return {{"error", observe(result.error())}};
  if constexpr (requires { remember(*result); }) remember(*result);
  return {{"ok", observe(*result)}};
}

template <class Folded>
Json Runner::session_finished(const Result<Folded>& result) {
  if (!result) return {{"error", observe(result.error())}};
  session_ = result->session;
  return {{"ok", observe(session_, observe(result->result))}};
}

Json Runner::session_changed(Result<Session> session) {
  if (!session) return {{"error", observe(session.error())}};
  session_ = *std::move(session);
  return {{"ok", observe(session_, nullptr)}};
}

template <class Stream, class OnEvent>
void Runner::read(Stream stream, const Operation& operation, OnEvent on_event) {
  while (!operation.take || events_.size() < *operation.take) {
    Poll event = stream.next();
    if (!event) break;
    events_.push_back(observe(*event));
    on_event(*event);
  }
}

Json Runner::run(const ModelOperation& what, const Call& call) {
  const bool generates = what.form == ModelOperation::Form::generate;
  Thread thread = thread_;
  if (what.messages) {
    auto messages = messages_from_json(
        *what.messages, generates ? ValidationError::Reason::invalid_request : ValidationError::Reason::invalid_thread);
    if (!messages) return refused(call.operation, messages.error());
    thread = Thread(*std::move(messages));
  }
  Request request{.messages = thread.messages};
  if (!call.operation.streamed) {
    switch (what.form) {
      case ModelOperation::Form::generate:
        return finished(generate(engine_, std::move(request), call.options));
      case ModelOperation::Form::step:
        return finished(step(engine_, std::move(thread), call.options));
      case ModelOperation::Form::chat:
        return finished(chat(engine_, std::move(thread), call.options));
    }
  }
  StreamCollector collector(thread);
  EventStream events;
  switch (what.form) {
    case ModelOperation::Form::generate:
      events = stream_generate(engine_, std::move(request), call.options);
      break;
    case ModelOperation::Form::step:
      events = stream_step(engine_, std::move(thread), call.options);
      break;
    case ModelOperation::Form::chat:
      events = stream(engine_, std::move(thread), call.options);
      break;
  }
  read(std::move(events), call.operation, [&](const Event& event) { collector.apply(event); });
  if (call.operation.take) return Json::object();
  switch (what.form) {
    case ModelOperation::Form::generate:
      return finished(collector.response());
    case ModelOperation::Form::step:
      return finished(collector.step_result());
    case ModelOperation::Form::chat:
      return finished(collector.chat_result());
  }
  return Json::object();
}

Json Runner::run(const ToolsOperation& what, const Call& call) {
  if (!call.operation.streamed) return finished(run_tool_calls(what.calls, scenario_.tools, call.options, engine_));
  StreamCollector collector;
  read(stream_tool_calls(what.calls, scenario_.tools, call.options, engine_), call.operation,
       [&](const Event& event) { collector.apply(event); });
  return call.operation.take ? Json::object() : finished(collector.tool_batch());
}

template <class Finish>
Json Runner::run_session_stream(SessionStream stream, const Operation& operation, Finish finish) {
  // read() consumes its stream, but the session is needed afterwards: pass a reference.
  struct Borrowed {
    SessionStream& stream;
    Poll next() { return stream.next(); }
  };
  read(Borrowed{stream}, operation, [](const Event&) {});
  if (!operation.take) return session_finished(finish(stream));
  stream.drop();
  return session_changed(stream.session());
}

Json Runner::run(const SessionStartOperation& what, const Call& call) {
  Session session = session_;
  if (what.messages) {
    auto messages = messages_from_json(*what.messages);
    if (!messages) return refused(call.operation, messages.error());
    session = Session{.thread = Thread(*std::move(messages))};
  }
  if (what.id) session.id = what.id;
  if (what.context) session.context = *what.context;
  if (what.metadata) session.metadata = *what.metadata;
  // If the run fails, the caller still has this value: it stays the current session.
  session_ = session;
  if (!call.operation.streamed) return session_finished(session_start(engine_, std::move(session), call.options));
  return run_session_stream(session_stream_start(engine_, std::move(session), call.options), call.operation,
                            [](SessionStream& stream) { return stream.finish(); });
}

Json Runner::run(const SessionReplyOperation& what, const Call& call) {
  if (!call.operation.streamed) return session_finished(session_reply(engine_, session_, what.text, call.options));
  return run_session_stream(session_stream_reply(engine_, session_, what.text, call.options), call.operation,
                            [](SessionStream& stream) { return stream.finish(); });
}

Json Runner::run(const SessionContinueOperation& what, const Call& call) {
  std::optional<Message> message;
  if (!what.message.is_null()) {
    // The message is read at its index in the thread, so that paths in errors have this index.
    Json list(session_.thread.messages.size(), "");
    list.push_back(what.message);
    auto messages = messages_from_json(list);
    if (!messages) return refused(call.operation, messages.error());
    message = std::move(messages->back());
  }
  if (!call.operation.streamed) {
    return session_finished(session_continue(engine_, session_, std::move(message), call.options));
  }
  return run_session_stream(session_stream_continue(engine_, session_, std::move(message), call.options),
                            call.operation, [](SessionStream& stream) { return stream.finish(); });
}

Json Runner::run(const SessionStepOperation&, const Call& call) {
  if (!call.operation.streamed) return session_finished(session_step(engine_, session_, call.options));
  return run_session_stream(session_stream_step(engine_, session_, call.options), call.operation,
                            [](SessionStream& stream) { return stream.finish_step(); });
}

Json Runner::run(const SessionRecoverOperation&, const Call&) { return session_changed(session_recover(session_)); }

Json Runner::run(const SubmitOperation& what, const Call&) {
  if (what.batch) return session_changed(submit_tool_results(session_, what.results));
  const SubmittedResult& only = what.results.front();
  return session_changed(submit_tool_result(session_, only.tool_call_id, only.result));
}

Json Runner::run(const SessionRoundtripOperation&, const Call&) {
  const Result<std::string> text = to_json(session_);
  if (!text) return {{"error", observe(text.error())}};
  Result<Session> parsed = from_json<Session>(*text);
  if (!parsed) return {{"error", observe(parsed.error())}};
  const bool equal = *parsed == session_;
  session_ = *std::move(parsed);
  return {{"ok", {{"equal", equal}}}};
}

Json Runner::run(const AppendMessagesOperation& what, const Call& call) {
  auto messages = messages_from_json(what.messages);
  if (!messages) return refused(call.operation, messages.error());
  for (Message& message : *messages) thread_.messages.push_back(std::move(message));
  return {{"ok", {{"messages", observe(thread_.messages)}}}};
}

}  // namespace allm::scenario
