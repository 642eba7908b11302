// Observations: results, events and errors in the JSON form that scenarios compare with patterns.
// docs/scenario-format.md describes the form. Pure functions; safe to call from any thread.
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
// `result` is the observation of the operation's result; it becomes the member `result`.
Json observe(const Session& session, Json result);
Json observe(const Event& event);
// Text is unchanged; parts have the form that messages_from_json reads.
Json observe_content(const Content& content);

// The value, with every serialised error, call and message in it replaced by its observation.
Json observe_value(const Json& value);

}  // namespace allm::scenario
