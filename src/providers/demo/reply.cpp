#include "providers/demo/reply.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "providers/demo/answer.hpp"
#include "providers/demo/arguments.hpp"
#include "providers/demo/conversation.hpp"
#include "providers/demo/words.hpp"

namespace allm::demo_model {
namespace {

constexpr int kNameWord = 3;         // points for a word of the message that the tool's name has, too
constexpr int kDescriptionWord = 1;  // or its description, or a value that an argument allows
constexpr int kFittingArgument = 3;  // for an expression or a URL that an argument asks for by its name
constexpr int kEnough = 3;
constexpr std::size_t kMostTools = 8;

struct Candidate {
  const Tool* tool = nullptr;
  int points = 0;
  std::size_t place = 0;  // of the first word that fits, in the message
};

bool has_stem(const std::vector<Word>& words, const std::string& stem) {
  return std::ranges::any_of(words, [&](const Word& word) { return word.stem == stem && !is_filler(word); });
}

// Words of the values that arguments allow, and of the arguments' names.
std::string argument_words(const Tool& tool) {
  std::string words;
  if (!tool.schema.is_object() || !tool.schema.contains("properties")) return words;
  for (const auto& [name, property] : tool.schema["properties"].items()) {
    words += name + " ";
    if (!property.is_object() || !property.contains("enum")) continue;
    for (const Json& value : property["enum"])
      words += (value.is_string() ? value.get<std::string>() : value.dump()) + " ";
  }
  return words;
}

Candidate rate(const Tool& tool, const std::vector<Word>& message, std::string_view text) {
  const std::vector<Word> name = words_of(tool.name);
  const std::vector<Word> description = words_of(tool.description);
  const std::string arguments = argument_words(tool);
  const std::vector<Word> argument_names = words_of(arguments);
  Candidate candidate{.tool = &tool, .place = text.size()};
  std::vector<std::string> seen;
  for (const Word& word : message) {
    if (is_filler(word) || std::ranges::find(seen, word.stem) != seen.end()) continue;
    seen.push_back(word.stem);
    int points = 0;
    if (has_stem(name, word.stem)) points = kNameWord;
    if (points == 0 && (has_stem(description, word.stem) || has_stem(argument_names, word.stem)))
      points = kDescriptionWord;
    if (points > 0) candidate.place = std::min(candidate.place, word.begin);
    candidate.points += points;
  }
  const auto fits = [&](const char* stem, bool is_there) {
    if (is_there && has_stem(argument_names, stem)) candidate.points += kFittingArgument;
  };
  fits("expression", !expression_in(text).empty());
  fits("url", !urls_in(text).empty());
  fits("path", !paths_in(text).empty());
  return candidate;
}

std::vector<Candidate> fitting_tools(const Request& request, const Turn& turn) {
  std::vector<Candidate> fitting;
  const std::vector<Word> message = words_of(turn.text);
  for (const Tool& tool : request.tools) {
    if (turn.tool && *turn.tool != tool.name) continue;
    Candidate candidate = rate(tool, message, turn.text);
    if (turn.tool || candidate.points >= kEnough) fitting.push_back(candidate);
  }
  // A tool that fits much worse than the best was not meant: "read the file" fits write_file, too.
  int best = 0;
  for (const Candidate& candidate : fitting) best = std::max(best, candidate.points);
  std::erase_if(fitting, [&](const Candidate& candidate) { return candidate.points + kNameWord <= best; });
  std::ranges::sort(fitting, {}, [](const Candidate& candidate) { return std::pair(candidate.place, candidate.tool); });
  if (fitting.size() > kMostTools) fitting.resize(kMostTools);
  return fitting;
}

// The part of the message that is about each tool: from the last "and" or punctuation mark before its first word.
std::vector<std::string_view> clauses_of(const std::vector<Candidate>& tools, std::string_view text) {
  std::vector<std::size_t> begins;
  for (const Candidate& tool : tools) {
    const std::string_view before = text.substr(0, std::min(tool.place, text.size()));
    std::size_t begin = 0;
    for (const std::string_view separator : {", ", "; ", ". ", "? ", "! ", " and ", " then ", "\n"}) {
      const std::size_t found = before.rfind(separator);
      if (found != std::string_view::npos) begin = std::max(begin, found + separator.size());
    }
    begins.push_back(std::max(begin, begins.empty() ? 0 : begins.back()));
  }
  std::vector<std::string_view> clauses;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t from = i == 0 ? 0 : begins[i];
    const std::size_t to = i + 1 < begins.size() ? begins[i + 1] : text.size();
    clauses.push_back(text.substr(from, std::max(to, from) - from));
  }
  return clauses;
}

std::string description_of(const Tool& tool, const std::string& argument) {
  const Json& property = tool.schema["properties"][argument];
  return property.is_object() && property.contains("description") && property["description"].is_string()
             ? property["description"].get<std::string>()
             : "";
}

// Ids differ over the whole conversation, because they count its messages.
ToolCall make_call(const Request& request, std::size_t index, const Tool& tool, Json arguments) {
  ToolCall call{.id = "demo_" + std::to_string(request.messages.size()) + "_" + std::to_string(index + 1),
                .name = tool.name,
                .arguments = std::move(arguments)};
  call.raw_arguments = write_json(call.arguments).value_or("{}");
  return call;
}

std::optional<Reply> call_tools(const Request& request, const Turn& turn) {
  const std::vector<Candidate> tools = fitting_tools(request, turn);
  if (tools.empty()) return std::nullopt;
  const std::vector<std::string_view> clauses = clauses_of(tools, turn.text);
  Reply reply;
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const Tool& tool = *tools[i].tool;
    FoundArguments found = find_arguments(tool, clauses[i], turn.text, turn.given);
    if (found.missing) {
      // Of several tools, those whose arguments are known are called.
      if (tools.size() > 1) continue;
      return Reply{.reasoning = "`" + tool.name + "` fits, but an argument is missing.",
                   .text = question_about(tool.name, *found.missing, description_of(tool, *found.missing))};
    }
    for (Json& arguments : found.calls) {
      reply.calls.push_back(make_call(request, reply.calls.size(), tool, std::move(arguments)));
    }
  }
  if (reply.calls.empty()) return std::nullopt;
  reply.reasoning = "Words of the message fit";
  for (std::size_t i = 0; i < reply.calls.size(); ++i) {
    reply.reasoning += (i == 0 ? " `" : ", `") + reply.calls[i].name + "`";
  }
  reply.reasoning += ".";
  return reply;
}

// The tool that the request insists on, with made-up arguments where the message has none.
Reply forced_call(const Request& request, const Turn& turn) {
  const Tool* chosen = &request.tools.front();
  for (const Tool& tool : request.tools) {
    if (request.tool_choice->json() == Json(tool.name)) chosen = &tool;
  }
  FoundArguments found = find_arguments(*chosen, turn.text, turn.text, turn.given);
  if (found.missing) found.calls = {example_of(chosen->schema, turn.text)};
  if (!found.calls.front().is_object()) found.calls.front() = Json::object();
  Reply reply{.reasoning = "The request asks for a call of `" + chosen->name + "`."};
  reply.calls.push_back(make_call(request, 0, *chosen, std::move(found.calls.front())));
  return reply;
}

std::optional<Json> asked_schema(const Request& request) {
  if (!request.response_format) return std::nullopt;
  const ResponseFormat& format = *request.response_format;
  if (format.kind() == ResponseFormat::Kind::json_schema) return format.json().value("schema", Json::object());
  if (format.kind() == ResponseFormat::Kind::json_object) return Json::object({{"type", "object"}});
  return std::nullopt;
}

}  // namespace

Reply reply_to(const Request& request) {
  const Turn turn = read_turn(request.messages);
  const ToolChoice::Kind choice = request.tool_choice ? request.tool_choice->kind() : ToolChoice::Kind::automatic;
  const bool must_call = choice == ToolChoice::Kind::required || choice == ToolChoice::Kind::tool;
  if (turn.answered.empty() && !request.tools.empty() && choice != ToolChoice::Kind::none) {
    if (choice != ToolChoice::Kind::tool) {
      if (std::optional<Reply> reply = call_tools(request, turn); reply && !(must_call && reply->calls.empty()))
        return *reply;
    }
    if (must_call) return forced_call(request, turn);
  }
  if (const std::optional<Json> schema = asked_schema(request)) {
    return {.reasoning = "The answer must be JSON.", .text = write_json(example_of(*schema, turn.text)).value_or("{}")};
  }
  return {.text = answer_to(turn, request.tools)};
}

}  // namespace allm::demo_model
