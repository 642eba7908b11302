#include "stores/journal/logged_event.hpp"

#include <string>

#include "allm/serialize.hpp"

namespace allm {
namespace {

// What a follower sees of each kind of event. Results of steps and runs are in the session.
struct LoggedEvent {
  Json operator()(const MessageStarted&) const { return Json::object(); }
  Json operator()(const TextDelta& event) const { return {{"delta", event.delta}}; }
  Json operator()(const TextCompleted& event) const { return {{"text", event.text}}; }
  Json operator()(const ReasoningDelta& event) const { return {{"delta", event.delta}}; }
  Json operator()(const ReasoningCompleted& event) const { return {{"text", event.text}}; }
  Json operator()(const ToolCallStarted& event) const { return {{"id", event.id}, {"name", event.name}}; }
  Json operator()(const ToolCallDelta& event) const { return {{"id", event.id}, {"delta", event.arguments_delta}}; }
  Json operator()(const ToolCallCompleted& event) const { return {{"call", to_json_value(event.call)}}; }
  Json operator()(const MessageCompleted& event) const {
    Json json = Json::object();
    if (event.finish_reason) json["finish_reason"] = to_string(*event.finish_reason);
    if (event.usage) json["usage"] = to_json_value(*event.usage);
    return json;
  }
  Json operator()(const RawChunk&) const { return Json::object(); }
  Json operator()(const ErrorEvent& event) const { return {{"error", to_json_value(event.error)}}; }
  Json operator()(const ToolExecutionStarted& event) const {
    return {{"id", event.id}, {"name", event.name}, {"arguments", event.arguments}};
  }
  Json operator()(const ToolExecutionCompleted& event) const { return {{"id", event.id}, {"name", event.name}}; }
  Json operator()(const ToolResultEncoded& event) const {
    return {{"id", event.id}, {"content", event.content}, {"is_error", event.is_error}};
  }
  Json operator()(const AskUserRequested& event) const {
    return {{"id", event.tool_call_id}, {"question", event.question}, {"options", event.options}};
  }
  Json operator()(const ToolHalt& event) const {
    return {{"id", event.tool_call_id}, {"reason", event.reason}, {"content", event.content}};
  }
  Json operator()(const StepCompleted& event) const { return {{"done", event.step->done}}; }
  Json operator()(const ChatCompleted& event) const { return {{"halted_reason", event.result->halted_reason()}}; }
};

}  // namespace

Json logged_event(const Event& event) {
  Json json = {{"type", to_string(event.tag())}};
  json.update(event.visit(LoggedEvent{}));
  return json;
}

}  // namespace allm
