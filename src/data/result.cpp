#include "allm/result.hpp"

namespace allm {
namespace {

template <class End>
const std::vector<PendingToolCall>& calls_of(const End& end) {
  static const auto* const none = new std::vector<PendingToolCall>();
  const auto* manual = std::get_if<ended::Manual>(&end);
  return manual != nullptr ? manual->calls : *none;
}

}  // namespace

const std::vector<PendingToolCall>& StepResult::manual_tool_calls() const { return calls_of(end); }
const std::vector<PendingToolCall>& ChatResult::manual_tool_calls() const { return calls_of(end); }

const Error* ChatResult::error() const {
  const auto* failed = std::get_if<ended::Failed>(&end);
  return failed != nullptr && failed->error ? &*failed->error : nullptr;
}

const std::string* ChatResult::pending_question() const {
  const auto* asked = std::get_if<ended::AskUser>(&end);
  return asked != nullptr ? &asked->question : nullptr;
}

std::string ChatResult::text() const {
  if (!final_response.has_value()) return {};
  return final_response->text().value_or(std::string());
}

}  // namespace allm
