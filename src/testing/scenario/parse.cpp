#include <utility>

#include <fmt/format.h>

#include "allm/serialize.hpp"

#include "data/path.hpp"
#include "testing/scenario/handlers.hpp"
#include "testing/scenario/pattern.hpp"
#include "testing/scenario/reader.hpp"
#include "testing/scenario/scenario.hpp"

namespace allm::scenario {
namespace {

Tool parse_tool(const Json& value, const Path& path, Lane lane, ScenarioErrors& errors) {
  const Reader reader(value, path,
                      {"name", "description", "schema", "handler", "manual", "validate_arguments", "metadata"}, errors);
  Tool tool{.name = reader.required_text("name").value_or(""),
            .description = reader.text("description").value_or(""),
            .manual = reader.boolean("manual").value_or(false),
            .validate_arguments = reader.boolean("validate_arguments").value_or(true)};
  // Any value: the engine refuses an invalid schema when the scenario runs.
  if (const Json* schema = reader.find("schema")) tool.schema = *schema;
  if (const Json* metadata = reader.object("metadata")) tool.metadata = *metadata;
  if (const Json* handler = reader.find("handler")) {
    tool.handler = make_handler(*handler, reader.path("handler"), lane, errors);
  }
  return tool;
}

std::optional<ModelRef> parse_model(const Json& value) {
  if (value.is_string()) return ModelRef(value.get<std::string>());
  if (!value.is_object()) return std::nullopt;
  Result<ModelRef> model = from_json_value<ModelRef>(value);
  return model ? std::optional<ModelRef>(*std::move(model)) : std::nullopt;
}

void parse_engine(const Json& value, const Path& path, ScenarioErrors& errors, Scenario& scenario) {
  const Reader reader(value, path, {"model", "params", "context"}, errors);
  if (const Json* model = reader.find("model")) {
    scenario.model = parse_model(*model);
    if (!scenario.model) reader.wrong_type("model", "a model's name, or an object that describes it");
  }
  if (const Json* params = reader.object("params")) scenario.params = *params;
  if (const Json* context = reader.object("context")) scenario.context = *context;
}

// Reports an error of the scripts. Its path and message both begin at `scripts`: the path gets `path` in front, and the
// message loses its copy of the path.
void report_script(const Error& error, const Path& path, ScenarioErrors& errors) {
  const auto* detail = error.get_if<ValidationError>();
  if (detail == nullptr || detail->errors.empty()) {
    errors.add(extended(path, "scripts"), "invalid_script", error.message());
    return;
  }
  for (const FieldError& field : detail->errors) {
    const std::string where = to_string(field.path) + ": ";
    const std::string& message = error.message();
    Path full = path;
    full.insert(full.end(), field.path.begin(), field.path.end());
    errors.add(std::move(full), field.reason, message.starts_with(where) ? message.substr(where.size()) : message);
  }
}

}  // namespace

Scenario parse_scenario(const Json& json, const Path& path, Lane lane, ScenarioErrors& errors) {
  const Reader reader(json, path, {"name", "about", "scripts", "tools", "engine", "options", "run", "expect"}, errors);
  Scenario scenario;
  scenario.name = reader.text("name").value_or("");
  reader.text("about");
  if (const Json* scripts = reader.find("scripts")) {
    if (auto script = fake_script_from_json(*scripts)) {
      scenario.scripts = *std::move(script);
    } else {
      report_script(script.error(), path, errors);
    }
  }
  if (const Json* tools = reader.array("tools")) {
    for (std::size_t i = 0; i < tools->size(); ++i) {
      scenario.tools.push_back(
          parse_tool((*tools)[i], extended(reader.path("tools"), static_cast<std::int64_t>(i)), lane, errors));
    }
  }
  if (const Json* engine = reader.find("engine")) parse_engine(*engine, reader.path("engine"), errors, scenario);
  if (const Json* options = reader.object("options")) scenario.options = *options;
  reader.require("run");
  if (const Json* run = reader.array("run")) {
    for (std::size_t i = 0; i < run->size(); ++i) {
      scenario.run.push_back(
          parse_operation((*run)[i], extended(reader.path("run"), static_cast<std::int64_t>(i)), errors));
    }
  }
  reader.require("expect");
  if (const Json* expect = reader.array("expect")) {
    scenario.expect = *expect;
    check_pattern(*expect, reader.path("expect"), errors);
    if (expect->size() != scenario.run.size()) {
      errors.add(reader.path("expect"), "wrong_length",
                 fmt::format("expected one pattern for each of the {} operations, got {}", scenario.run.size(),
                             expect->size()));
    }
  }
  return scenario;
}

Result<std::vector<Scenario>> parse_scenarios(const Json& json, Lane lane) {
  ScenarioErrors errors;
  std::vector<Scenario> scenarios;
  if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      scenarios.push_back(parse_scenario(json[i], {static_cast<std::int64_t>(i)}, lane, errors));
    }
  } else {
    scenarios.push_back(parse_scenario(json, {}, lane, errors));
  }
  if (!errors.empty()) return std::unexpected(errors.to_error());
  return scenarios;
}

}  // namespace allm::scenario
