#include "lanes/command_line.hpp"

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

class Expansion {
 public:
  explicit Expansion(const Json& arguments) : arguments_(arguments) {}

  // Returns an error message, empty on success.
  std::string add(const std::string& element) {
    const auto pieces = pieces_of(element);
    if (!pieces) return pieces.error();
    if (pieces->size() == 1) {
      options_over_ = options_over_ || element == "--";
      words_.push_back(pieces->front());
      return {};
    }
    const bool alone = pieces->size() == 3 && pieces->front().empty() && pieces->back().empty();
    if (alone) {
      const Json* value = find((*pieces)[1]);
      if (value == nullptr) return {};
      if (value->is_array()) return add_items((*pieces)[1], *value);
    }
    return add_joined(*pieces);
  }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  const Json* find(const std::string& name) const {
    const auto found = arguments_.find(name);
    return found == arguments_.end() || found->is_null() ? nullptr : &*found;
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
      const Json* value = find(pieces[i]);
      if (value == nullptr) return {};
      const auto text = value_text(pieces[i], *value);
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

}  // namespace

std::expected<std::vector<std::string>, std::string> expand_command(const std::vector<std::string>& argv,
                                                                    const Json& arguments) {
  Expansion expansion(arguments);
  for (const std::string& element : argv) {
    if (std::string error = expansion.add(element); !error.empty()) return std::unexpected(std::move(error));
  }
  return expansion.take();
}

std::optional<std::string> template_error(const std::vector<std::string>& argv) {
  if (argv.empty() || argv.front().empty()) return "names no program";
  for (std::size_t i = 0; i < argv.size(); ++i) {
    const auto pieces = pieces_of(argv[i]);
    if (!pieces) return pieces.error();
    if (i == 0 && pieces->size() > 1) return "'" + argv[i] + "': the program itself cannot be an argument";
    if (argv[i].find('\0') != std::string::npos) return "has a NUL character";
  }
  return std::nullopt;
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
