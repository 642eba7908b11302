#include "providers/demo/arguments.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "providers/demo/words.hpp"

namespace allm::demo_model {
namespace {

constexpr std::size_t kMostCalls = 8;
// Deeper schemas get null, so that schemas that contain themselves have an end.
constexpr int kMostDepth = 8;

std::string type_of(const Json& schema) {
  if (!schema.is_object()) return "";
  const auto type = schema.find("type");
  if (type == schema.end()) return schema.contains("properties") ? "object" : "";
  if (type->is_string()) return type->get<std::string>();
  if (!type->is_array()) return "";
  for (const Json& one : *type) {
    if (one.is_string() && one != "null") return one.get<std::string>();
  }
  return "";
}

const Json& member(const Json& object, const char* name) {
  static const Json* const kNone = new Json();  // never destroyed: a call may run while the program exits
  if (!object.is_object()) return *kNone;
  const auto found = object.find(name);
  return found == object.end() ? *kNone : *found;
}

template <std::size_t size>
bool has_word(const std::vector<Word>& words, const std::array<std::string_view, size>& stems) {
  return std::ranges::any_of(words,
                             [&](const Word& word) { return std::ranges::find(stems, word.stem) != stems.end(); });
}

std::optional<Json> number_from(const std::string& text, bool is_whole) {
  if (is_whole) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return Json(number);
  }
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Json(number);
}

bool is_in_range(const Json& schema, const Json& number) {
  const Json& least = member(schema, "minimum");
  const Json& most = member(schema, "maximum");
  return !(least.is_number() && number.get<double>() < least.get<double>()) &&
         !(most.is_number() && number.get<double>() > most.get<double>());
}

std::vector<Json> to_json(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

// Texts for one property, from the most to the least certain way to find them.
class TextFinder {
 public:
  TextFinder(std::string_view tool, std::string_view name, const Json& schema, std::string_view text)
      : tool_(words_of(tool)), name_(words_of(name)), schema_(schema), text_(text), words_(words_of(text)) {}

  std::vector<Json> find() const {
    if (std::string named = after_own_name(); !named.empty()) return {named};
    static constexpr std::array<std::string_view, 5> kUrl = {"url", "uri", "link", "address", "website"};
    static constexpr std::array<std::string_view, 8> kPath = {"path", "fil",       "filenam", "folder",
                                                              "dir",  "directory", "root",    "pattern"};
    static constexpr std::array<std::string_view, 4> kExpression = {"expression", "expr", "formula", "calculation"};
    if (has_word(name_, kExpression)) {
      const std::string expression = expression_in(text_);
      return expression.empty() ? std::vector<Json>() : std::vector<Json>{expression};
    }
    if (has_word(name_, kUrl) || member(schema_, "format") == "uri") return to_json(urls_in(text_));
    if (const auto quoted = quoted_texts(text_); !quoted.empty()) return to_json(quoted);
    if (has_word(name_, kPath)) {
      const auto paths = paths_in(text_);
      if (!paths.empty()) return to_json(paths);
    }
    if (is_free_text()) return rest_of_text();
    if (std::string directed = after_direction(); !directed.empty()) return {directed};
    if (const auto names = names_in(text_); !names.empty()) return to_json(names);
    return to_json(after_preposition());
  }

  // What is marked with the name: "city: Oslo", "city=Oslo". Empty if nothing is.
  std::string after_own_name() const {
    if (name_.empty()) return "";
    for (const Word& word : words_) {
      if (word.stem != name_.back().stem) continue;
      const std::string_view rest = text_.substr(word.end());
      const std::size_t mark = rest.find_first_not_of(' ');
      if (mark == std::string_view::npos || (rest[mark] != ':' && rest[mark] != '=')) continue;
      const std::string_view value = rest.substr(mark + 1);
      return std::string(trimmed(value.substr(0, end_of_phrase(value))));
    }
    return "";
  }

 private:
  // For names like "from" and "to": what follows that word.
  std::string after_direction() const {
    static constexpr std::array<std::array<std::string_view, 2>, 6> kDirections = {{{"from", "from"},
                                                                                    {"origin", "from"},
                                                                                    {"sourc", "from"},
                                                                                    {"to", "to"},
                                                                                    {"destination", "to"},
                                                                                    {"target", "to"}}};
    for (const auto& [stem, direction] : kDirections) {
      if (!has_word(name_, std::array<std::string_view, 1>{stem})) continue;
      for (const Word& word : words_) {
        if (word.stem == direction) return phrase_after(word);
      }
    }
    return "";
  }
  bool is_free_text() const {
    static constexpr std::array<std::string_view, 14> kFree = {"text",    "query",  "messag", "question", "prompt",
                                                               "content", "task",   "note",   "command",  "sql",
                                                               "body",    "search", "input",  "pattern"};
    return has_word(name_, kFree);
  }
  // What follows the words that name the tool, or the first verb: "search for | old letters".
  std::vector<Json> rest_of_text() const {
    const auto is_of_tool = [&](const Word& word) {
      return std::ranges::any_of(tool_, [&](const Word& part) { return part.stem == word.stem; });
    };
    auto first = std::ranges::find_if_not(words_, is_filler);
    const bool is_named = std::ranges::any_of(words_, is_of_tool);
    if (!is_named && first != words_.end()) ++first;
    while (first != words_.end() && (is_filler(*first) || is_of_tool(*first))) ++first;
    if (first == words_.end()) return {};
    return {std::string(trimmed(text_.substr(first->begin)))};
  }
  std::vector<std::string> after_preposition() const {
    std::vector<std::string> found;
    for (const Word& word : words_) {
      if (!is_preposition(word)) continue;
      if (std::string phrase = phrase_after(word); !phrase.empty()) found.push_back(std::move(phrase));
    }
    return found;
  }
  std::string phrase_after(const Word& word) const {
    std::string_view rest = text_.substr(word.end());
    rest = rest.substr(0, end_of_phrase(rest));
    for (const Word& next : words_of(rest)) {
      if (next.stem == "the" || next.stem == "a" || next.stem == "an") continue;
      return std::string(trimmed(rest.substr(next.begin)));
    }
    return "";
  }
  // The place of the first punctuation mark, preposition or "and".
  static std::size_t end_of_phrase(std::string_view text) {
    std::size_t end = std::min(text.find_first_of(",;?!\n"), text.size());
    if (const std::size_t stop = text.find(". "); stop < end) end = stop;
    for (const Word& word : words_of(text)) {
      if (is_preposition(word) || word.stem == "and" || word.stem == "then") return std::min(end, word.begin);
    }
    return end;
  }

  const std::vector<Word> tool_;  // its name
  const std::vector<Word> name_;
  const Json& schema_;
  const std::string_view text_;
  const std::vector<Word> words_;
};

std::vector<Json> enum_values(const Json& values, std::string_view text) {
  std::multimap<std::size_t, Json> found;  // by their place in the text
  const std::vector<Word> words = words_of(text);
  for (const Json& value : values) {
    const std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
    const std::vector<Word> wanted = words_of(shown);
    const auto place = std::ranges::search(words, wanted, {}, &Word::stem, &Word::stem);
    if (!place.empty() && !wanted.empty()) found.emplace(place.front().begin, value);
  }
  std::vector<Json> sorted;
  for (auto& [begin, value] : found) sorted.push_back(std::move(value));
  return sorted;
}

std::vector<Json> boolean_values(std::string_view name, std::string_view text) {
  const std::vector<Word> words = words_of(text);
  const std::vector<Word> wanted = words_of(name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (wanted.empty() || words[i].stem != wanted.back().stem) continue;
    static constexpr std::array<std::string_view, 4> kNot = {"no", "not", "without", "never"};
    return {i == 0 || std::ranges::find(kNot, words[i - 1].stem) == kNot.end()};
  }
  return {};
}

// All values of a property in the text, in the order of the text.
std::vector<Json> values_of(std::string_view tool, const std::string& name, const Json& schema, std::string_view text) {
  if (const Json& values = member(schema, "enum"); values.is_array()) return enum_values(values, text);
  const std::string type = type_of(schema);
  if (type == "boolean") return boolean_values(name, text);
  if (type == "integer" || type == "number") {
    std::vector<Json> found;
    for (const std::string& number : numbers_in(text)) {
      std::optional<Json> value = number_from(number, type == "integer");
      if (value && is_in_range(schema, *value)) found.push_back(*std::move(value));
    }
    return found;
  }
  if (type == "array") {
    const std::vector<Json> items = values_of(tool, name, member(schema, "items"), text);
    return items.empty() ? std::vector<Json>() : std::vector<Json>{Json(items)};
  }
  if (type == "object") return {};
  return TextFinder(tool, name, schema, text).find();
}

bool is_required(const Json& schema, const std::string& name) {
  const Json& required = member(schema, "required");
  return required.is_array() && std::ranges::find(required, Json(name)) != required.end();
}

bool is_text(const Json& schema) {
  const std::string type = type_of(schema);
  return (type == "string" || type.empty()) && !member(schema, "enum").is_array();
}

// Arguments of one kind take their values from the text in order.
constexpr const char* kText = "text";
std::string kind_of(const std::string& name, const Json& schema) {
  const std::string type = type_of(schema);
  if (is_text(schema)) return kText;
  return type == "integer" || type == "number" ? "number" : name;
}

// The values of an argument. A text for an optional argument must be marked: "unit: celsius".
std::vector<Json> values_for(std::string_view tool, const std::string& name, const Json& schema, std::string_view text,
                             bool required) {
  if (required || !is_text(schema)) return values_of(tool, name, schema, text);
  std::string marked = TextFinder(tool, name, schema, text).after_own_name();
  return marked.empty() ? std::vector<Json>() : std::vector<Json>{std::move(marked)};
}

// A value of the answer to a question about an argument: the answer itself, if nothing better is in it.
Json answered_value(const std::string& name, const Json& schema, const std::string& answer) {
  const std::string type = type_of(schema);
  if (member(schema, "enum").is_array() || (type != "string" && !type.empty())) {
    const std::vector<Json> values = values_of("", name, schema, answer);
    if (!values.empty()) return values.front();
    if (type == "boolean") return answer.starts_with('y') || answer.starts_with('Y');
  }
  return std::string(trimmed(answer));
}

Json example_at(const std::string& name, const Json& schema, std::string_view text, int depth) {
  if (depth == 0 || !schema.is_object()) return nullptr;
  if (schema.contains("const")) return schema["const"];
  const std::vector<Json> found = values_of("", name, schema, text);
  if (!found.empty()) return found.front();
  if (const Json& values = member(schema, "enum"); values.is_array() && !values.empty()) return values.front();
  if (schema.contains("default")) return schema["default"];
  const std::string type = type_of(schema);
  if (type == "object") {
    Json object = Json::object();
    const Json& properties = member(schema, "properties");
    if (properties.is_object()) {
      for (const auto& [key, property] : properties.items()) object[key] = example_at(key, property, text, depth - 1);
    }
    return object;
  }
  if (type == "array") return Json::array({example_at(name, member(schema, "items"), text, depth - 1)});
  if (type == "boolean") return false;
  if (type == "integer" || type == "number")
    return member(schema, "minimum").is_number() ? member(schema, "minimum") : Json(0);
  if (type == "null") return nullptr;
  return std::string(text.empty() ? "example" : trimmed(text.substr(0, text.find('\n'))));
}

}  // namespace

FoundArguments find_arguments(const Tool& tool, std::string_view clause, std::string_view text,
                              const std::map<std::string, std::string>& given) {
  FoundArguments found;
  Json call = Json::object();
  std::string repeated;  // the argument of which there are several values
  std::vector<Json> repetitions;
  std::map<std::string, std::size_t> taken;  // how many values of each kind are arguments already
  const Json& properties = member(tool.schema, "properties");
  const Json none = Json::object();
  const Json& all = properties.is_object() ? properties : none;
  for (const auto& [name, property] : all.items()) {
    if (const auto answer = given.find(name); answer != given.end()) {
      call[name] = answered_value(name, property, answer->second);
      continue;
    }
    const bool required = is_required(tool.schema, name);
    std::vector<Json> values = values_for(tool.name, name, property, clause, required);
    if (values.empty() && required) values = values_for(tool.name, name, property, text, required);
    // Two numbers, or two texts, are the values of two arguments.
    std::size_t& used = taken[kind_of(name, property)];
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(std::min(used, values.size())));
    if (values.empty()) {
      if (!required || property.contains("default")) continue;
      found.missing = name;
      return found;
    }
    ++used;
    call[name] = values.front();
    const bool may_repeat = is_text(property) || member(property, "enum").is_array();
    if (required && may_repeat && values.size() > 1 && repeated.empty()) {
      repeated = name;
      repetitions = std::move(values);
    }
  }
  if (repeated.empty() || taken[kText] > 1) {
    found.calls.push_back(std::move(call));
    return found;
  }
  for (Json& value : repetitions) {
    if (found.calls.size() == kMostCalls) break;
    call[repeated] = std::move(value);
    if (std::ranges::find(found.calls, call) == found.calls.end()) found.calls.push_back(call);
  }
  return found;
}

Json example_of(const Json& schema, std::string_view text) { return example_at("", schema, text, kMostDepth); }

}  // namespace allm::demo_model
