#include "allm/tools_file.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "allm/schema.hpp"
#include "allm/validate.hpp"

#include "data/read_file.hpp"
#include "lanes/command_line.hpp"
#include "lanes/toml_reader.hpp"

namespace allm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBytes = std::size_t{16} << 20U;

Error invalid(std::string message) {
  return validation_error(ValidationError::Reason::invalid_tool, {"tools"}, "invalid_file", std::move(message));
}

template <class T>
void set(T& target, std::optional<T> value) {
  if (value) target = *std::move(value);
}

template <class Enum>
void set_word(const TomlTable& table, const char* key, Enum& target,
              std::initializer_list<std::pair<std::string_view, Enum>> words) {
  const auto text = table.text(key);
  if (!text) return;
  std::string known;
  for (const auto& [word, value] : words) {
    if (word == *text) {
      target = value;
      return;
    }
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  table.report(key, "is '" + *text + "'; there are " + known);
}

class ToolsFileReader {
 public:
  ToolsFileReader(const std::string& name, fs::path folder) : errors_(name), folder_(std::move(folder)) {}

  std::vector<Tool> read(const toml::table& file) {
    const TomlTable top(file, "", {"tool"}, errors_);
    std::vector<Tool> tools;
    const toml::node* list = top.find("tool");
    if (list == nullptr) {
      top.report("the file declares no tool; write [[tool]]");
    } else if (!list->is_array_of_tables()) {
      top.report("tool", "must be a list of tables: write [[tool]]");
    } else {
      for (const toml::node& node : *list->as_array()) tools.push_back(read_tool(*node.as_table()));
    }
    return tools;
  }
  const TomlErrors& errors() const { return errors_; }

 private:
  Tool read_tool(const toml::table& node) {
    const auto name = node["name"].value<std::string>();
    const std::string what = name ? "tool '" + *name + "': " : "tool: ";
    const TomlTable table(node, what,
                          {"name", "description", "command", "schema", "input", "output", "timeout", "directory",
                           "pass_environment", "environment", "failure_statuses", "manual", "compact", "summary",
                           "validate_arguments", "on_interrupted", "limits", "sandbox"},
                          errors_);
    Tool tool{.name = table.text("name").value_or("")};
    if (!name) table.report("a name is missing");
    if (name && !names_.insert(*name).second) table.report("name", "is taken by another tool of this file");
    set(tool.description, table.text("description"));
    set(tool.manual, table.boolean("manual"));
    set(tool.compact, table.boolean("compact"));
    set(tool.validate_arguments, table.boolean("validate_arguments"));
    set_word(table, "on_interrupted", tool.on_interrupted,
             {{"fail", OnInterrupted::fail}, {"retry", OnInterrupted::retry}, {"ask", OnInterrupted::ask}});
    tool.summary = table.text("summary");
    tool.timeout = table.duration("timeout");
    if (tool.timeout && tool.timeout->count() < 1) table.report("timeout", "must be at least 1 ms");
    read_schema(table, tool);
    tool.command = read_command(table, tool);
    read_limits(table, what, tool.limits);
    if (const Status valid = validate(tool); !valid && name) table.report(valid.error().message());
    return tool;
  }

  void read_schema(const TomlTable& table, Tool& tool) {
    const toml::node* node = table.find("schema");
    if (node == nullptr) return;
    if (const auto* text = node->as_string()) {
      Result<Json> schema = parse_json(text->get());
      if (!schema) return table.report("schema", "is not valid JSON: " + schema.error().message());
      tool.schema = *std::move(schema);
    } else if (node->is_table()) {
      tool.schema = json_of(*node);
    } else {
      return table.report("schema", "must be a table, or a text that is JSON");
    }
    if (const auto compiled = Schema::compile(tool.schema); !compiled) {
      table.report("schema", "is not a valid JSON Schema: " + compiled.error().message());
    }
  }

  std::optional<Command> read_command(const TomlTable& table, const Tool& tool) {
    Command command;
    if (table.find("command") == nullptr) {
      if (!tool.manual) table.report("a command is missing; a tool without one must be manual");
      return std::nullopt;
    }
    read_argv(table, command);
    check_template(table, command, tool.schema);
    if (!command.argv.empty()) command.argv.front() = resolved(command.argv.front(), false);
    set_word(table, "input", command.input, {{"arguments", CommandInput::arguments}, {"json", CommandInput::json}});
    set_word(table, "output", command.output,
             {{"text", CommandOutput::text}, {"json", CommandOutput::json}, {"outcome", CommandOutput::outcome}});
    set(command.pass_environment, table.texts("pass_environment"));
    if (const toml::table* variables = table.table("environment")) {
      for (const auto& [key, value] : *variables) {
        const auto text = value.value<std::string>();
        if (!text) table.report("environment", "has a value for " + std::string(key.str()) + " that is no text");
        command.environment[std::string(key.str())] = text.value_or("");
      }
    }
    if (const auto directory = table.text("directory")) command.directory = resolved(*directory, true);
    set(command.failure_statuses, table.integers("failure_statuses"));
    return command;
  }

  // A list in the list is a group.
  void read_argv(const TomlTable& table, Command& command) {
    const toml::array* const list = table.find("command")->as_array();
    const auto is_text = [](const toml::node& item) { return item.is_string(); };
    const auto add = [&](const toml::node& item) {
      if (const auto* text = item.as_string()) {
        command.argv.push_back(text->get());
        return true;
      }
      const toml::array* const group = item.as_array();
      if (group == nullptr || !std::all_of(group->begin(), group->end(), is_text)) return false;
      command.groups.emplace_back();
      for (const toml::node& element : *group) command.groups.back().push_back(element.as_string()->get());
      command.argv.insert(command.argv.end(), command.groups.back().begin(), command.groups.back().end());
      return true;
    };
    if (list != nullptr && std::all_of(list->begin(), list->end(), add)) return;
    command.argv.clear();
    command.groups.clear();
    table.report("command", "must be a list of texts, and of lists of texts for groups");
  }

  void check_template(const TomlTable& table, const Command& command, const Json& schema) {
    if (auto error = template_error(command, schema)) return table.report("command", *error);
    const auto properties = schema.is_object() ? schema.find("properties") : schema.end();
    if (!schema.is_object() || properties == schema.end() || !properties->is_object()) return;
    for (const std::string& name : template_names(command.argv)) {
      if (!properties->contains(name)) {
        table.report("command", "uses {" + name + "}, which the schema does not declare");
      }
    }
  }

  void read_limits(const TomlTable& tool, const std::string& what, ToolLimits& limits) {
    if (const toml::table* node = tool.table("limits")) {
      const TomlTable table(*node, what, {"memory", "cpu_time", "open_files", "output", "grace"}, errors_);
      if (const auto memory = table.bytes("memory")) limits.memory = memory;
      if (const auto time = table.duration("cpu_time")) {
        limits.cpu_time = std::chrono::ceil<std::chrono::seconds>(*time);
      }
      if (const auto files = table.integer("open_files")) {
        limits.open_files = static_cast<std::uint64_t>(std::max<std::int64_t>(0, *files));
        if (*files < 8) table.report("open_files", "must be at least 8");
      }
      set(limits.output, table.bytes("output"));
      set(limits.grace, table.duration("grace"));
    }
    if (const toml::table* node = tool.table("sandbox")) {
      const TomlTable table(*node, what, {"network", "read_only", "writable", "required"}, errors_);
      set(limits.sandbox.network, table.boolean("network"));
      set(limits.sandbox.read_only, table.boolean("read_only"));
      set(limits.sandbox.required, table.boolean("required"));
      for (const std::string& path : table.texts("writable").value_or(std::vector<std::string>())) {
        limits.sandbox.writable.push_back(resolved(path, true));
      }
    }
  }

  // Relative paths are relative to the file; a program's name without a slash is looked for in PATH.
  std::string resolved(const std::string& path, bool is_path) const {
    if (path.starts_with('/') || folder_.empty() || (!is_path && path.find('/') == std::string::npos)) return path;
    return (folder_ / path).lexically_normal().string();
  }

  TomlErrors errors_;
  fs::path folder_;
  std::set<std::string> names_;
};

Result<std::vector<Tool>> read(const std::string& text, const std::string& name, const fs::path& folder) {
  toml::table file;
  try {
    file = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    return std::unexpected(invalid(name + ":" + std::to_string(error.source().begin.line) +
                                   ": this is no TOML: " + std::string(error.description())));
  }
  ToolsFileReader reader(name, folder);
  std::vector<Tool> tools = reader.read(file);
  if (!reader.errors().empty()) return std::unexpected(invalid(reader.errors().text()));
  return tools;
}

}  // namespace

Result<std::vector<Tool>> read_tools_file(const std::string& path) {
  const auto text = read_file(path, kMaxBytes);
  if (!text) return std::unexpected(invalid(path + ": cannot be read: " + errno_text(text.error())));
  return read(*text, path, fs::absolute(path).parent_path());
}

Result<std::vector<Tool>> tools_from_toml(const std::string& text, const std::string& name) {
  return read(text, name, {});
}

}  // namespace allm
