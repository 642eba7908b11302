#include "providers/demo/conversation.hpp"

#include <algorithm>
#include <utility>

namespace allm::demo_model {
namespace {

constexpr std::string_view kToolMark = "To call `";
constexpr std::string_view kArgumentMark = "` I need `";

struct Question {
  std::string tool;
  std::string argument;
};

std::optional<Question> question_in(const std::string& text) {
  if (!text.starts_with(kToolMark)) return std::nullopt;
  const std::size_t middle = text.find(kArgumentMark);
  if (middle == std::string::npos) return std::nullopt;
  const std::size_t argument = middle + kArgumentMark.size();
  const std::size_t end = text.find('`', argument);
  if (end == std::string::npos) return std::nullopt;
  return Question{.tool = text.substr(kToolMark.size(), middle - kToolMark.size()),
                  .argument = text.substr(argument, end - argument)};
}

bool is_question_of_tool(const Message& message) {
  return message.role == Role::assistant && message.metadata.is_object() && message.metadata.contains("ask_user");
}

// The index of the last user message at or before `index`; nullopt if there is none.
std::optional<std::size_t> last_user(const MessageList& messages, std::size_t count) {
  while (count > 0) {
    if (messages[--count].role == Role::user) return count;
  }
  return std::nullopt;
}

std::size_t count_attachments(const Message& message) {
  const auto* parts = std::get_if<std::vector<Part>>(&message.content);
  if (parts == nullptr) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(*parts, [](const Part& part) { return !std::holds_alternative<TextPart>(part); }));
}

// The calls after message `from`, with their results.
std::vector<AnsweredCall> answered_after(const MessageList& messages, std::size_t from) {
  std::vector<AnsweredCall> calls;
  for (std::size_t i = from; i < messages.size(); ++i) {
    const Message& message = messages[i];
    for (const ToolCall& call : message.tool_calls) calls.push_back({.call = call});
    if (message.role != Role::tool) continue;
    for (AnsweredCall& answered : calls) {
      if (answered.call.id != message.tool_call_id) continue;
      answered.result = message.text();
      answered.failed = message.metadata.is_object() && message.metadata.value("is_error", false);
    }
  }
  return calls;
}

}  // namespace

Turn read_turn(const MessageList& messages) {
  Turn turn;
  std::optional<std::size_t> begin = last_user(messages, messages.size());
  if (!begin) return turn;
  turn.attachments = count_attachments(messages[*begin]);
  std::size_t calls_from = *begin;
  if (*begin > 0 && is_question_of_tool(messages[*begin - 1])) {
    turn.answer = messages[*begin].text();
    const std::optional<std::size_t> before = last_user(messages, *begin);
    calls_from = before.value_or(0);
    begin = before ? before : begin;
  }
  // Back over the questions about arguments, to the message that they are about.
  while (*begin > 0 && messages[*begin - 1].role == Role::assistant) {
    std::optional<Question> question = question_in(messages[*begin - 1].text());
    if (!question || (turn.tool && turn.tool != question->tool)) break;
    const std::optional<std::size_t> before = last_user(messages, *begin - 1);
    if (!before) break;
    turn.tool = question->tool;
    turn.given.emplace(std::move(question->argument), messages[*begin].text());
    begin = before;
  }
  turn.text = messages[*begin].text();
  turn.answered = answered_after(messages, calls_from);
  return turn;
}

std::string question_about(const std::string& tool, const std::string& argument, std::string_view description) {
  std::string text = std::string(kToolMark) + tool + std::string(kArgumentMark) + argument + "`";
  if (!description.empty()) {
    while (description.ends_with('.')) description.remove_suffix(1);
    text += " (" + std::string(description) + ")";
  }
  return text + ". What should it be?";
}

}  // namespace allm::demo_model
