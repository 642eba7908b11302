#include "allm/session_ops.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chat/open_run.hpp"
#include "data/tool_errors.hpp"
#include "engine/observed_source.hpp"
#include "session/projection.hpp"
#include "session/session_run.hpp"

namespace allm {
namespace {

using Operation = SessionOperation;

struct Prepared {
  Session seed;
  CallOptions options;
};

Error wrong_status(const Session& session, const std::string& operation, std::string_view advice) {
  const std::string status(to_string(session.status));
  if (session.status == SessionStatus::error) {
    return Error(SessionError{SessionError::Reason::session_in_error_state},
                 "cannot " + operation + ": the session is in error; session_recover takes it back to its last step",
                 {{"status", status}});
  }
  return Error(SessionError{SessionError::Reason::invalid_status_for_operation},
               "cannot " + operation + " a session that is " + status + std::string(advice), {{"status", status}});
}

std::string_view advice_for(const Session& session, Operation operation) {
  switch (session.status) {
    case SessionStatus::awaiting_user:
      return ": answer its question with session_reply";
    case SessionStatus::awaiting_tools:
      return ": answer its pending calls with submit_tool_result or session_approve";
    default:
      return operation == Operation::approve ? ": it has no pending calls" : "";
  }
}

bool allowed(const Session& session, Operation operation, const Message* message) {
  if (operation == Operation::approve) return session.status == SessionStatus::awaiting_tools;
  switch (session.status) {
    case SessionStatus::idle:
    case SessionStatus::completed:
      return true;
    case SessionStatus::awaiting_user:
      return operation == Operation::reply ||
             (operation == Operation::continue_run && message != nullptr && message->role == Role::user);
    case SessionStatus::awaiting_tools:
      return operation == Operation::continue_run && message == nullptr && session.pending_tool_calls.empty();
    case SessionStatus::error:
      return false;
  }
  return false;
}

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::start:
      return "start";
    case Operation::reply:
      return "reply to";
    case Operation::continue_run:
      return "continue";
    case Operation::step:
      return "step";
    case Operation::approve:
      return "approve calls of";
  }
  return "use";
}

Request request_of(Message message) {
  Request request;
  request.messages.push_back(std::move(message));
  return request;
}

// Metadata of a session are an object, or null, which counts as an empty one.
Status take_metadata(Session& session) {
  if (session.metadata.is_null()) session.metadata = Json::object();
  if (session.metadata.is_object()) return {};
  return std::unexpected(validation_error(ValidationError::Reason::invalid_session, {std::string("metadata")},
                                          "not_a_map", "invalid session: metadata is not an object"));
}

// Adds the new messages to the session, and the session's settings to the options.
Result<Prepared> prepare(const Session& session, const SessionRun& run, CallOptions options) {
  if (Status valid = check_session_run(session, run); !valid) return std::unexpected(valid.error());
  Prepared prepared{session, std::move(options)};
  Session& seed = prepared.seed;
  if (Status valid = take_metadata(seed); !valid) return std::unexpected(valid.error());
  seed.pending_question.reset();
  seed.pending_tool_call_id.reset();
  seed.thread.messages.append(run.request.messages);
  const std::optional<Json>& given = prepared.options.context;
  const bool given_none = !given || (given->is_object() && given->empty());
  if (given_none && seed.context.is_object() && !seed.context.empty()) prepared.options.context = seed.context;
  if (!prepared.options.session_id && seed.id) prepared.options.session_id = seed.id;
  return prepared;
}

SessionReducer::Kind kind_of(Operation operation) {
  switch (operation) {
    case Operation::step:
      return SessionReducer::Kind::step;
    case Operation::approve:
      return SessionReducer::Kind::approval;
    default:
      return SessionReducer::Kind::chat;
  }
}

SessionStream open_stream(const Engine& engine, Session session, SessionRun run, const CallOptions& options) {
  OpenedSessionRun opened = open_session_run(engine, std::move(session), std::move(run), options);
  return {std::move(opened.events), std::move(opened.reducer)};
}

}  // namespace

Status check_session_run(const Session& session, const SessionRun& run) {
  const MessageList& messages = run.request.messages;
  if (allowed(session, run.operation, messages.empty() ? nullptr : &messages.front())) return {};
  return std::unexpected(wrong_status(session, name_of(run.operation), advice_for(session, run.operation)));
}

OpenedSessionRun open_session_run(const Engine& engine, Session session, SessionRun run, const CallOptions& options,
                                  std::shared_ptr<RunJournal> journal) {
  const auto kind = kind_of(run.operation);
  Result<Prepared> prepared = prepare(session, run, options);
  if (!prepared) return {failed_stream(prepared.error(), options), SessionReducer(session, session, kind)};
  const Session& seed = prepared->seed;
  EventStream events;
  switch (run.operation) {
    case Operation::step:
      events = stream_thread_step(engine, seed.thread, std::move(run.request), prepared->options);
      break;
    case Operation::approve:
      events = stream_approved_calls(engine, seed.thread, seed.pending_tool_calls, std::move(run.decisions),
                                     prepared->options, std::move(journal));
      break;
    default:
      events = stream_thread(engine, seed.thread, std::move(run.request), prepared->options, std::move(journal));
  }
  return {std::move(events), SessionReducer(std::move(session), std::move(prepared->seed), kind)};
}

SessionStream session_stream_start(const Engine& engine, Session session, const CallOptions& options) {
  return session_stream_start(engine, std::move(session), Request{}, options);
}
SessionStream session_stream_start(const Engine& engine, Session session, Request request, const CallOptions& options) {
  return open_stream(engine, std::move(session), {Operation::start, std::move(request)}, options);
}
SessionStream session_stream_reply(const Engine& engine, Session session, Content reply, const CallOptions& options) {
  return open_stream(engine, std::move(session), {Operation::reply, request_of(user(std::move(reply)))}, options);
}
SessionStream session_stream_continue(const Engine& engine, Session session, std::optional<Message> message,
                                      const CallOptions& options) {
  Request request = message ? request_of(*std::move(message)) : Request{};
  return session_stream_continue(engine, std::move(session), std::move(request), options);
}
SessionStream session_stream_continue(const Engine& engine, Session session, Request request,
                                      const CallOptions& options) {
  return open_stream(engine, std::move(session), {Operation::continue_run, std::move(request)}, options);
}
SessionStream session_stream_step(const Engine& engine, Session session, const CallOptions& options) {
  return session_stream_step(engine, std::move(session), Request{}, options);
}
SessionStream session_stream_step(const Engine& engine, Session session, Request request, const CallOptions& options) {
  return open_stream(engine, std::move(session), {Operation::step, std::move(request)}, options);
}

SessionStream session_stream_approve(const Engine& engine, Session session, std::vector<CallDecision> decisions,
                                     const CallOptions& options) {
  SessionRun run{.operation = Operation::approve, .decisions = std::move(decisions)};
  return open_stream(engine, std::move(session), std::move(run), options);
}

Result<SessionTurn> session_start(const Engine& engine, Session session, const CallOptions& options) {
  return session_stream_start(engine, std::move(session), options).finish();
}
Result<SessionTurn> session_start(const Engine& engine, Session session, Request request, const CallOptions& options) {
  return session_stream_start(engine, std::move(session), std::move(request), options).finish();
}
Result<SessionTurn> session_reply(const Engine& engine, Session session, Content reply, const CallOptions& options) {
  return session_stream_reply(engine, std::move(session), std::move(reply), options).finish();
}
Result<SessionTurn> session_continue(const Engine& engine, Session session, std::optional<Message> message,
                                     const CallOptions& options) {
  return session_stream_continue(engine, std::move(session), std::move(message), options).finish();
}
Result<SessionTurn> session_continue(const Engine& engine, Session session, Request request,
                                     const CallOptions& options) {
  return session_stream_continue(engine, std::move(session), std::move(request), options).finish();
}
Result<SessionTurn> session_approve(const Engine& engine, Session session, std::vector<CallDecision> decisions,
                                    const CallOptions& options) {
  return session_stream_approve(engine, std::move(session), std::move(decisions), options).finish();
}
Result<SessionStep> session_step(const Engine& engine, Session session, const CallOptions& options) {
  return session_stream_step(engine, std::move(session), options).finish_step();
}
Result<SessionStep> session_step(const Engine& engine, Session session, Request request, const CallOptions& options) {
  return session_stream_step(engine, std::move(session), std::move(request), options).finish_step();
}

Result<Session> session_recover(Session session) {
  if (session.status != SessionStatus::error) {
    return std::unexpected(
        Error(SessionError{SessionError::Reason::invalid_status_for_operation},
              "cannot recover a session that is " + std::string(to_string(session.status)) + ": only one in error",
              {{"status", to_string(session.status)}}));
  }
  if (Status valid = take_metadata(session); !valid) return std::unexpected(valid.error());
  // The last message of an interrupted turn is marked as such; the turns before it are complete.
  std::size_t kept = session.thread.messages.size();
  const auto is_broken = [](const Message& message) {
    const auto finish = message.metadata.find("finish_reason");
    return message.role == Role::assistant && finish != message.metadata.end() &&
           *finish == to_string(FinishReason::error);
  };
  while (kept > 0 && is_broken(session.thread.messages[kept - 1])) --kept;
  session.thread.messages = session.thread.messages.first(kept);
  session.status = SessionStatus::idle;
  session.pending_tool_calls.clear();
  session.pending_question.reset();
  session.pending_tool_call_id.reset();
  session.metadata.erase("error");
  return session;
}

Result<Session> submit_tool_result(Session session, const std::string& tool_call_id, const Json& result,
                                   ToolResultEncoder* encoder) {
  const SubmittedResult submitted{tool_call_id, result};
  return submit_tool_results(std::move(session), {&submitted, 1}, encoder);
}

Result<Session> submit_tool_results(Session session, std::span<const SubmittedResult> results,
                                    ToolResultEncoder* encoder) {
  if (results.empty()) return session;
  if (session.status != SessionStatus::awaiting_tools) {
    return std::unexpected(wrong_status(session, "submit results to", ": it has no pending calls"));
  }
  JsonToolResultEncoder built_in;
  ToolResultEncoder& writer = encoder != nullptr ? *encoder : built_in;
  std::vector<PendingToolCall>& calls = session.pending_tool_calls;
  std::unordered_map<std::string_view, std::size_t> places;  // of the calls that have no result yet
  for (std::size_t i = 0; i < calls.size(); ++i) places.try_emplace(calls[i].id, i);
  std::vector<bool> is_answered(calls.size());
  for (const SubmittedResult& submitted : results) {
    const auto place = places.find(submitted.tool_call_id);
    if (place == places.end()) {
      return std::unexpected(Error(SessionError{SessionError::Reason::unknown_tool_call_id},
                                   "no call '" + submitted.tool_call_id + "' is pending",
                                   {{"tool_call_id", submitted.tool_call_id}}));
    }
    Result<std::string> content = writer.encode(submitted.result);
    if (!content) {
      const ToolCall& call = calls[place->second];
      return std::unexpected(
          tool_error(call, ToolError::Reason::encoding_failed,
                     "the result of call '" + call.id + "' cannot be written: " + content.error().message()));
    }
    session.thread.messages.push_back(submitted.is_error ? failed_result(submitted.tool_call_id, *std::move(content))
                                                         : tool_result(submitted.tool_call_id, *std::move(content)));
    is_answered[place->second] = true;
    places.erase(place);
  }
  std::vector<PendingToolCall> left;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!is_answered[i]) left.push_back(std::move(calls[i]));
  }
  calls = std::move(left);
  if (calls.empty()) session.status = SessionStatus::idle;
  return session;
}

}  // namespace allm
