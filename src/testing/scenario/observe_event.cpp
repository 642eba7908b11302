#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "testing/scenario/observe.hpp"
#include "testing/scenario/or_null.hpp"

namespace allm::scenario {
namespace {

struct OutcomeObserver {
  Json operator()(const ToolOk& outcome) const {
    if (outcome.parts.empty()) return {{"ok", outcome.value}};
    return {{"ok_parts", observe_content(outcome.parts)}};
  }
  Json operator()(const ToolFailure& outcome) const {
    const auto* reported = std::get_if<Json>(&outcome.reason);
    return {{"error", reported != nullptr ? *reported : observe(std::get<Error>(outcome.reason))}};
  }
  Json operator()(const AskUser& outcome) const {
    return {{"ask_user", {{"question", outcome.question}, {"options", outcome.options}}}};
  }
  Json operator()(const Halt& outcome) const {
    return {{"halt", {{"reason", outcome.reason}, {"result", outcome.result}}}};
  }
};

// The payload of each kind of event. The caller puts the tag in front.
struct PayloadObserver {
  Json operator()(const MessageStarted& event) const { return {{"message", observe(event.message)}}; }
  Json operator()(const TextDelta& event) const { return {{"id", or_null(event.id)}, {"delta", event.delta}}; }
  Json operator()(const TextCompleted& event) const { return {{"id", or_null(event.id)}, {"text", event.text}}; }
  Json operator()(const ReasoningDelta& event) const { return {{"delta", event.delta}}; }
  Json operator()(const ReasoningCompleted& event) const { return {{"text", event.text}}; }
  Json operator()(const ToolCallStarted& event) const { return {{"id", event.id}, {"name", event.name}}; }
  Json operator()(const ToolCallDelta& event) const {
    return {{"id", event.id}, {"arguments_delta", event.arguments_delta}};
  }
  Json operator()(const ToolCallCompleted& event) const {
    Json json = observe(event.call);
    if (!event.call.metadata.empty()) json["metadata"] = observe_value(event.call.metadata);
    return json;
  }
  Json operator()(const MessageCompleted& event) const {
    Json json = {{"message", observe(event.message)}};
    json["finish_reason"] = event.finish_reason ? Json(to_string(*event.finish_reason)) : Json(nullptr);
    Json metadata = observe_value(event.metadata);
    if (event.usage) metadata["usage"] = observe(*event.usage);
    if (!metadata.empty()) json["metadata"] = std::move(metadata);
    if (event.id) json["id"] = *event.id;
    if (event.model) json["model"] = *event.model;
    if (event.raw_finish_reason) json["raw_finish_reason"] = *event.raw_finish_reason;
    return json;
  }
  Json operator()(const RawChunk& event) const { return {{"chunk", event.chunk}}; }
  Json operator()(const ErrorEvent& event) const { return {{"error", observe(event.error)}}; }
  Json operator()(const ToolExecutionStarted& event) const {
    return {{"id", event.id}, {"name", event.name}, {"arguments", event.arguments}};
  }
  Json operator()(const ToolExecutionCompleted& event) const {
    return {{"id", event.id}, {"name", event.name}, {"result", observe(event.outcome)}};
  }
  Json operator()(const ToolResultEncoded& event) const {
    if (event.parts.empty()) return {{"id", event.id}, {"content", event.content}};
    return {{"id", event.id}, {"content", observe_content(event.parts)}};
  }
  Json operator()(const AskUserRequested& event) const {
    return {{"tool_call_id", event.tool_call_id},
            {"tool_name", event.tool_name},
            {"question", event.question},
            {"opts", event.options}};
  }
  Json operator()(const ToolHalt& event) const {
    Json json = {{"tool_call_id", event.tool_call_id}, {"reason", event.reason}};
    json["result"] = event.result;
    json["content"] = event.content;
    if (event.policy_error) json["on_tool_error_exception"] = observe(*event.policy_error);
    return json;
  }
  Json operator()(const StepCompleted& event) const {
    return {{"response", observe(event.response())},
            {"thread", observe(event.thread().messages)},
            {"mode", to_string(event.mode)},
            {"manual_tool_calls", observe(std::span(event.manual_tool_calls()))}};
  }
  Json operator()(const ChatCompleted& event) const { return {{"result", observe(*event.result)}}; }
};

}  // namespace

Json observe(const ToolOutcome& outcome) { return std::visit(OutcomeObserver{}, outcome); }

Json observe(const Event& event) {
  Json json = {{"tag", to_string(event.tag())}};
  json.update(event.visit(PayloadObserver{}));
  return json;
}

}  // namespace allm::scenario
