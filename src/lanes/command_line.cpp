#include "lanes/command_line.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "process/secret_variables.hpp"

namespace allm {
namespace {

// Splits an element of a template: texts and names of arguments in turn, beginning with a text.
std::expected<std::vector<std::string>, std::string> pieces_of(std::string_view element) {
  std::vector<std::string> pieces(1);
  bool in_name = false;
  for (std::size_t i = 0; i < element.size(); ++i) {
    const char character = element[i];
    const bool doubled = i + 1 < element.size() && element[i + 1] == character;
    if (!in_name && (character == '{' || character == '}') && doubled) {
      pieces.back().push_back(character);
      ++i;
    } else if (!in_name && character == '{') {
      in_name = true;
      pieces.emplace_back();
    } else if (in_name && character == '}' && !pieces.back().empty()) {
      in_name = false;
      pieces.emplace_back();
    } else if (character == '{' || character == '}') {
      return std::unexpected("'" + std::string(element) + "' has a brace without its other; write {{ or }} for one");
    } else {
      pieces.back().push_back(character);
    }
  }
  if (in_name) return std::unexpected("'" + std::string(element) + "' has a brace without its other");
  return pieces;
}

std::expected<std::string, std::string> value_text(const std::string& name, const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.find('\0') != std::string::npos) return std::unexpected("argument '" + name + "' has a NUL character");
    return text;
  }
  const Result<std::string> text = write_json(value);
  if (!text) return std::unexpected("argument '" + name + "' cannot be written: " + text.error().message());
  return *text;
}

// How many elements from `at` on are a group; 0 if none begins there.
std::size_t group_at(const Command& command, std::size_t at) {
  for (const std::vector<std::string>& group : command.groups) {
    const std::size_t left = command.argv.size() - at;
    if (!group.empty() && group.size() <= left &&
        std::equal(group.begin(), group.end(), command.argv.begin() + static_cast<std::ptrdiff_t>(at))) {
      return group.size();
    }
  }
  return 0;
}

// Whether the next element could be the value of this one: "-o", "--config", but not "--config=x".
bool is_option(const std::string& element) {
  return element.size() > 1 && element.front() == '-' && element != "--" &&
         element.find_first_of("={}") == std::string::npos;
}

// Calls `visit(first, count, option)` for each group and each other element, in their order. `option` is the option
// directly before the element, null if there is none or if the element is a group.
template <class Visit>
void each_part(const Command& command, Visit visit) {
  const std::string* option = nullptr;
  bool options_over = false;
  for (std::size_t i = 0; i < command.argv.size();) {
    const std::size_t group = group_at(command, i);
    visit(i, std::max<std::size_t>(group, 1), group == 0 ? option : nullptr);
    const std::string& element = command.argv[i];
    options_over = options_over || (group == 0 && element == "--");
    option = group == 0 && i > 0 && !options_over && is_option(element) ? &element : nullptr;
    i += std::max<std::size_t>(group, 1);
  }
}

class Expansion {
 public:
  explicit Expansion(const Json& arguments) : arguments_(arguments) {}

  // Adds a group or an element, unless an argument of it is missing. Returns an error message, empty on success.
  std::string add(std::span<const std::string> elements, const std::string* option) {
    for (const std::string& element : elements) {
      const auto missing = missing_argument(element);
      if (!missing) return missing.error();
      if (missing->empty()) continue;
      if (option == nullptr) return {};
      return "argument '" + *missing + "' is missing, and the option '" + *option + "' needs it";
    }
    for (const std::string& element : elements) {
      if (std::string error = add_element(element); !error.empty()) return error;
    }
    return {};
  }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  static bool is_placeholder(const std::vector<std::string>& pieces) {
    return pieces.size() == 3 && pieces.front().empty() && pieces.back().empty();
  }

  const Json* find(const std::string& name) const {
    const auto found = arguments_.find(name);
    return found == arguments_.end() || found->is_null() ? nullptr : &*found;
  }

  // The name of the first argument of the element that is missing; empty if none is.
  std::expected<std::string, std::string> missing_argument(const std::string& element) const {
    const auto pieces = pieces_of(element);
    if (!pieces) return std::unexpected(pieces.error());
    for (std::size_t i = 1; i < pieces->size(); i += 2) {
      const Json* value = find((*pieces)[i]);
      if (value == nullptr || (is_placeholder(*pieces) && value->is_array() && value->empty())) return (*pieces)[i];
    }
    return std::string();
  }

  std::string add_element(const std::string& element) {
    const auto pieces = pieces_of(element);
    if (pieces->size() == 1) {
      options_over_ = options_over_ || element == "--";
      words_.push_back(pieces->front());
      return {};
    }
    const std::string& name = (*pieces)[1];
    if (is_placeholder(*pieces) && find(name)->is_array()) return add_items(name, *find(name));
    return add_joined(*pieces);
  }

  std::string add_items(const std::string& name, const Json& list) {
    for (const Json& item : list) {
      auto text = value_text(name, item);
      if (!text) return text.error();
      if (std::string error = push(name, *std::move(text), true); !error.empty()) return error;
    }
    return {};
  }

  std::string add_joined(const std::vector<std::string>& pieces) {
    std::string word;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (i % 2 == 0) {
        word += pieces[i];
        continue;
      }
      const auto text = value_text(pieces[i], *find(pieces[i]));
      if (!text) return text.error();
      word += *text;
    }
    return push(pieces[1], std::move(word), pieces.front().empty());
  }

  std::string push(const std::string& name, std::string word, bool begins_with_value) {
    // A model must not be able to pass options that the template's author did not intend.
    if (begins_with_value && !options_over_ && !words_.empty() && word.starts_with('-')) {
      return "argument '" + name + "' begins with '-', and would be taken for an option";
    }
    words_.push_back(std::move(word));
    return {};
  }

  const Json& arguments_;
  std::vector<std::string> words_;
  bool options_over_ = false;
};

std::optional<std::string> element_error(const std::vector<std::string>& argv) {
  if (argv.empty() || argv.front().empty()) return "names no program";
  for (std::size_t i = 0; i < argv.size(); ++i) {
    const auto pieces = pieces_of(argv[i]);
    if (!pieces) return pieces.error();
    if (i == 0 && pieces->size() > 1) return "'" + argv[i] + "': the program itself cannot be an argument";
    if (argv[i].find('\0') != std::string::npos) return "has a NUL character";
  }
  return std::nullopt;
}

std::string quoted(const std::vector<std::string>& group) {
  std::string text;
  for (const std::string& element : group) text += (text.empty() ? "" : ", ") + ("\"" + element + "\"");
  return "[" + text + "]";
}

std::optional<std::string> group_error(const Command& command) {
  for (const std::vector<std::string>& group : command.groups) {
    if (group.empty()) return "has an empty group";
    if (template_names(group).empty()) return "has the group " + quoted(group) + ", which uses no argument";
    if (std::ranges::search(std::span(command.argv).subspan(1), group).empty()) {
      return "has no neighbouring elements " + quoted(group) + " after the program, as its group says";
    }
  }
  return std::nullopt;
}

bool is_required(const Json& schema, const std::string& name) {
  if (!schema.is_object() || !schema.contains("required") || !schema["required"].is_array()) return false;
  return std::ranges::find(schema["required"], Json(name)) != schema["required"].end();
}

// An argument that may be missing after an option: the next element would become the value of the option.
std::optional<std::string> ambiguity(const Command& command, const Json& schema) {
  std::optional<std::string> error;
  each_part(command, [&](std::size_t first, std::size_t /*count*/, const std::string* option) {
    if (error || option == nullptr) return;
    const std::string& element = command.argv[first];
    for (const std::string& name : template_names({element})) {
      if (error || is_required(schema, name)) continue;
      error = "has '" + element + "' after the option '" + *option + "', but '" + name + "' may be missing: group " +
              quoted({*option, element}) + " if the option is then left out too, or " + quoted({element}) +
              " if the option stays, or make '" + name + "' required in the schema";
    }
  });
  return error;
}

}  // namespace

std::expected<std::vector<std::string>, std::string> expand_command(const Command& command, const Json& arguments) {
  Expansion expansion(arguments);
  std::string error;
  each_part(command, [&](std::size_t first, std::size_t count, const std::string* option) {
    if (error.empty()) error = expansion.add(std::span(command.argv).subspan(first, count), option);
  });
  if (!error.empty()) return std::unexpected(std::move(error));
  return expansion.take();
}

std::optional<std::string> template_error(const Command& command, const Json& schema) {
  if (auto error = element_error(command.argv)) return error;
  if (auto error = group_error(command)) return error;
  return ambiguity(command, schema);
}

std::vector<std::string> template_names(const std::vector<std::string>& argv) {
  std::vector<std::string> names;
  for (const std::string& element : argv) {
    const auto pieces = pieces_of(element);
    for (std::size_t i = 1; pieces && i < pieces->size(); i += 2) names.push_back((*pieces)[i]);
  }
  return names;
}

std::vector<std::string> command_environment(const Command& command) {
  std::vector<std::string> passed = command.pass_environment;
  std::erase_if(passed, [&](const std::string& name) { return command.environment.contains(name); });
  std::vector<std::string> environment = named_variables(passed);
  for (const auto& [name, value] : command.environment) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace allm
