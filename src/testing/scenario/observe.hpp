// Observations: results, events and errors in the form that scenarios compare with patterns.
// docs/scenario-format.md describes it. Pure functions; safe to call from any thread.
#pragma once

#include <span>

#include "allm/event.hpp"
#include "allm/result.hpp"
#include "allm/session.hpp"
#include "allm/tool_runner.hpp"

namespace allm::scenario {

Json observe(const Message& message);
Json observe(const MessageList& messages);
Json observe(std::span<const Message> messages);
Json observe(const ToolCall& call);
Json observe(std::span<const ToolCall> calls);
Json observe(std::span<const PendingToolCall> calls);
Json observe(const Usage& usage);
Json observe(const Error& error);
Json observe(const ToolOutcome& outcome);
Json observe(const Response& response);
Json observe(const StepResult& step);
Json observe(const ChatResult& chat);
Json observe(const ToolBatch& batch);
// With what the operation gave under `result`.
Json observe(const Session& session, Json result);
Json observe(const Event& event);
// A text as it is, parts in the form in which messages_from_json reads them.
Json observe_content(const Content& content);

// A value as it is, but with the errors, calls and messages in it, which are there in their
// serialised form, in the forms above.
Json observe_value(const Json& value);

}  // namespace allm::scenario
