#include "allm/result.hpp"

#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "data/overloaded.hpp"

namespace allm {
namespace {

template <class End>
const std::vector<PendingToolCall>& calls_of(const End& end) {
  static const auto* const none = new std::vector<PendingToolCall>();
  const auto* manual = std::get_if<ended::Manual>(&end);
  return manual != nullptr ? manual->calls : *none;
}

// Why there is no answer, and what to do about it.
std::string describe_end(const RunEnd& end) {
  const auto limit = [&] {
    return fmt::format("the run reached its limit {}: raise it, or run the thread again", halted_reason(end));
  };
  return std::visit(
      Overloaded{
          [](const ended::Completed&) -> std::string { return "it has no response"; },
          [](const ended::AskUser& asked) {
            return fmt::format("a tool asked the user \"{}\": add the answer to the thread and run it again",
                               asked.question);
          },
          [](const ended::Halted& halt) { return fmt::format("a tool ended the run with reason \"{}\"", halt.reason); },
          [](const ended::ToolError&) -> std::string {
            return "a tool failed, and on_tool_error says that this ends the run";
          },
          [](const ended::Manual&) -> std::string {
            return "tool calls wait for the program: add their results to the thread and run it again";
          },
          [](const ended::Cancelled&) -> std::string { return "the run was cancelled"; },
          [](const ended::Failed&) -> std::string { return "the run failed"; },
          [](const ended::HaltWhen&) -> std::string { return "halt_when ended the run"; },
          [&](const ended::Limit&) { return limit(); },
          [&](const ended::MaxTurns&) { return limit(); },
      },
      end);
}

Json facts_of(const ChatResult& result) {
  Json facts = {{"halted_reason", result.halted_reason()}};
  facts.update(result.full_metadata());
  return facts;
}

Error not_completed(const ChatResult& result) {
  std::string message = "the run has no answer: " + describe_end(result.end);
  if (std::holds_alternative<ended::Cancelled>(result.end)) {
    return {StreamError{.reason = StreamError::Reason::cancelled}, std::move(message), facts_of(result)};
  }
  const auto* limit = std::get_if<ended::Limit>(&result.end);
  if (limit != nullptr && limit->which == ended::Limit::Which::run_timeout) {
    return {StreamError{.reason = StreamError::Reason::timeout}, std::move(message), facts_of(result)};
  }
  return {SessionError{SessionError::Reason::invalid_status_for_operation}, std::move(message), facts_of(result)};
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

Result<std::string> unwrap(const ChatResult& result) {
  if (const Error* error = result.error()) return std::unexpected(*error);
  if (!std::holds_alternative<ended::Completed>(result.end) || !result.final_response) {
    return std::unexpected(not_completed(result));
  }
  Result<std::string> text = unwrap(*result.final_response);
  if (text || result.final_response->error) return text;
  Json facts = facts_of(result);
  facts.update(text.error().metadata());
  return std::unexpected(
      std::visit([&](const auto& detail) { return Error(detail, text.error().message(), std::move(facts)); },
                 text.error().detail()));
}

}  // namespace allm
