#include "providers/demo/answer.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>

#include "data/utf8_repair.hpp"
#include "providers/demo/words.hpp"

namespace allm::demo_model {
namespace {

// Results are shown up to this size; a real model would sum them up.
constexpr std::size_t kMostResultBytes = 2'000;
constexpr std::size_t kMostItems = 20;
constexpr std::size_t kMostLines = 100'000;

std::string shortened(std::string_view text) {
  if (text.size() <= kMostResultBytes) return std::string(text);
  text = text.substr(0, kMostResultBytes);
  text.remove_suffix(incomplete_utf8_tail(text));
  return std::string(text) + "…";
}

std::string inline_json(const Json& value) {
  if (value.is_string()) return shortened(value.get<std::string>());
  return shortened(write_json(value).value_or(""));
}

std::string as_list(const Json& value) {
  std::string list;
  std::size_t shown = 0;
  for (const auto& [key, item] : value.items()) {
    if (shown++ == kMostItems) return list + "- and " + std::to_string(value.size() - kMostItems) + " more\n";
    list += value.is_object() ? "- **" + key + "**: " : "- ";
    list += inline_json(item) + "\n";
  }
  return list;
}

// A fence that the text does not contain.
std::string fenced(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fence + "\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + "\n";
}

std::string arguments_of(const ToolCall& call) {
  std::string text;
  if (!call.arguments.is_object()) return text;
  for (const auto& [key, value] : call.arguments.items())
    text += (text.empty() ? " (" : ", ") + key + ": " + inline_json(value);
  return text.empty() ? text : text + ")";
}

std::string shown_result(const AnsweredCall& answered) {
  const std::string name = "`" + answered.call.name + "`" + arguments_of(answered.call);
  const Result<Json> value = parse_json(answered.result);
  const bool is_error = value && value->is_object() && value->contains("error");
  if (answered.failed || is_error) {
    return name + " failed: " + (is_error ? inline_json((*value)["error"]) : shortened(answered.result)) + "\n";
  }
  if (answered.result.empty()) return name + " returned nothing.\n";
  if (value && (value->is_object() || value->is_array()) && !value->empty()) return name + ":\n\n" + as_list(*value);
  const std::string text = shortened(answered.result);
  if (text.find('\n') != std::string::npos) return name + ":\n\n" + fenced(text);
  return name + ": **" + text + "**\n";
}

std::string results_text(const Turn& turn) {
  std::string text;
  for (const AnsweredCall& answered : turn.answered) {
    // The question of a tool, which the user has answered.
    const bool is_question = turn.answer && answered.result == "<awaiting user response>";
    if (!text.empty()) text += "\n";
    text += is_question ? "You answered `" + answered.call.name + "`: " + shortened(*turn.answer) + "\n"
                        : shown_result(answered);
  }
  return text;
}

std::string introduction(const std::vector<Tool>& tools) {
  std::string text =
      "I am allm's **demo model**: a few rules and no language model, so I understand nothing. I look for words of the "
      "tools' names and descriptions in your message, and take their arguments from it.\n\n";
  if (tools.empty()) {
    text += "There are no tools in this conversation. ";
  } else {
    text += "I can call:\n\n";
    for (const Tool& tool : tools) {
      text += "- `" + tool.name + "`" + (tool.description.empty() ? "" : ": " + shortened(tool.description)) + "\n";
    }
    text += "\n";
  }
  return text +
         "I can also `count to 20` and show `markdown`. For real answers choose a real model, such as "
         "`openai:gpt-4.1-mini` with a key, or `ollama:qwen3:8b`.";
}

constexpr std::string_view kMarkdown =
    "# Markdown\n\nA paragraph with **bold**, *italic* and `code`, and a [link](https://example.com).\n\n"
    "1. one\n2. two\n   - nested\n\n> A quotation.\n\n```cpp\n// Every answer can have code.\nint main() {\n  return "
    "0;\n}\n"
    "```\n\n| city | celsius |\n| --- | ---: |\n| Oslo | 4 |\n| Rome | 22 |\n";

// "count to 20", "write 2000 lines": the number.
std::size_t lines_asked_for(const std::vector<Word>& words, std::string_view text) {
  const bool asks =
      std::ranges::any_of(words, [](const Word& word) { return word.stem == "count" || word.stem == "lin"; });
  const std::vector<std::string> numbers = numbers_in(text);
  if (!asks || numbers.empty()) return 0;
  std::size_t count = 0;
  std::from_chars(numbers.back().data(), numbers.back().data() + numbers.back().size(), count);
  return std::min(count, kMostLines);
}

}  // namespace

std::string answer_to(const Turn& turn, const std::vector<Tool>& tools) {
  if (!turn.answered.empty()) return results_text(turn);
  const std::vector<Word> words = words_of(turn.text);
  if (const std::size_t lines = lines_asked_for(words, turn.text); lines > 0) {
    std::string text;
    for (std::size_t line = 1; line <= lines; ++line) text += std::to_string(line) + (line == lines ? "" : "\n");
    return text;
  }
  const auto says = [&](std::string_view stem) {
    return std::ranges::any_of(words, [&](const Word& word) { return word.stem == stem; });
  };
  if (says("markdown")) return std::string(kMarkdown);
  std::string text;
  if (turn.attachments > 0) {
    text = "You attached " + std::to_string(turn.attachments) + (turn.attachments == 1 ? " file" : " files") +
           ", which I cannot look at.\n\n";
  }
  return text + introduction(tools);
}

}  // namespace allm::demo_model
