#include "session/projection.hpp"

#include <optional>
#include <variant>
#include <vector>

#include "allm/serialize.hpp"

#include "data/overloaded.hpp"

namespace allm {
namespace {

void settle(Session& session, const Thread& thread, const Json& metadata) {
  session.thread = thread;
  session.pending_tool_calls.clear();
  session.pending_question.reset();
  session.pending_tool_call_id.reset();
  for (const auto& [key, value] : metadata.items()) session.metadata[key] = value;
}

void await_user(Session& session, const ended::AskUser& asked) {
  session.status = SessionStatus::awaiting_user;
  session.pending_question = asked.question;
  session.pending_tool_call_id = asked.tool_call_id;
}

// `all` are the calls of the response; in a manual run all of them are pending.
void await_tools(Session& session, const ended::Manual& manual, const std::vector<ToolCall>& all) {
  session.status = SessionStatus::awaiting_tools;
  session.pending_tool_calls = manual.calls;
  if (!manual.calls.empty()) return;
  for (const ToolCall& call : all) session.pending_tool_calls.push_back({call, PendingKind::manual});
}

// Stores the error, or the metadata if there is none.
void set_error(Session& session, const std::optional<Error>& error, const Json& metadata) {
  session.status = SessionStatus::error;
  session.metadata["error"] = error ? to_json_value(*error) : metadata;
}

// Applies the ends that steps and runs have in common.
class Projection {
 public:
  Projection(Session& session, const Json& metadata, const std::vector<ToolCall>& calls)
      : session_(session), metadata_(metadata), calls_(calls) {}

  void operator()(const ended::AskUser& end) const { await_user(session_, end); }
  void operator()(const ended::Manual& end) const { await_tools(session_, end, calls_); }
  void operator()(const ended::ToolError& end) const { set_error(session_, end.policy_error, metadata_); }
  void operator()(const ended::Failed& end) const { set_error(session_, end.error, metadata_); }
  void operator()(const ended::Cancelled&) const { session_.status = SessionStatus::idle; }

 private:
  Session& session_;
  const Json& metadata_;
  const std::vector<ToolCall>& calls_;
};

}  // namespace

Session after_chat(Session session, const ChatResult& result) {
  const Json metadata = result.full_metadata();
  settle(session, result.thread, metadata);
  const std::vector<ToolCall> no_calls;
  const Projection shared(session, metadata, result.final_response ? result.final_response->tool_calls : no_calls);
  const auto complete = [&](const auto&) { session.status = SessionStatus::completed; };
  std::visit(
      Overloaded{[&](const ended::Completed& end) { complete(end); }, [&](const ended::Halted& end) { complete(end); },
                 [&](const ended::Limit& end) { complete(end); }, [&](const ended::MaxTurns& end) { complete(end); },
                 [&](const ended::HaltWhen& end) { complete(end); }, [&](const auto& end) { shared(end); }},
      result.end);
  return session;
}

Session after_step(Session session, const StepResult& result) {
  Json metadata = result.full_metadata();
  if (result.response.error) metadata["error"] = to_json_value(*result.response.error);
  settle(session, result.thread, metadata);
  const Projection shared(session, metadata, result.response.tool_calls);
  const auto complete = [&](const auto&) {
    session.status = result.done ? SessionStatus::completed : SessionStatus::idle;
  };
  std::visit(Overloaded{[&](const ended::Completed& end) { complete(end); },
                        [&](const ended::Halted& end) { complete(end); }, [&](const auto& end) { shared(end); }},
             result.end);
  return session;
}

}  // namespace allm
