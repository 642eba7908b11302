#include "lanes/outcome_json.hpp"

#include <utility>

#include "allm/serialize.hpp"

namespace allm {
namespace {

Error no_outcome(std::string problem) {
  return validation_error(ValidationError::Reason::invalid_request, {"outcome"}, "invalid_value",
                          "an outcome is an object with one of ok, failure, ask_user and halt; " + std::move(problem));
}

Result<ToolOutcome> read_question(const Json& value) {
  if (!value.is_object() || !value.contains("question") || !value["question"].is_string()) {
    return std::unexpected(no_outcome("ask_user needs an object with a question"));
  }
  return ask_user(value["question"].get<std::string>(), value.value("options", Json::object()));
}

Result<ToolOutcome> read_halt(const Json& value) {
  if (!value.is_object() || !value.contains("reason") || !value["reason"].is_string()) {
    return std::unexpected(no_outcome("halt needs an object with a reason"));
  }
  return halt(value["reason"].get<std::string>(), value.value("result", Json(nullptr)));
}

}  // namespace

Result<std::string> write_outcome(const ToolOutcome& outcome) {
  Json json = Json::object();
  if (const auto* value = std::get_if<ToolOk>(&outcome)) {
    json["ok"] = value->value;
  } else if (const auto* failure = std::get_if<ToolFailure>(&outcome)) {
    if (const auto* error = std::get_if<Error>(&failure->reason)) {
      json["error"] = to_json_value(*error);
    } else {
      json["failure"] = std::get<Json>(failure->reason);
    }
  } else if (const auto* question = std::get_if<AskUser>(&outcome)) {
    json["ask_user"] = {{"question", question->question}, {"options", question->options}};
  } else {
    const Halt& halt = std::get<Halt>(outcome);
    json["halt"] = {{"reason", halt.reason}, {"result", halt.result}};
  }
  return write_json(json);
}

Result<ToolOutcome> read_outcome(const Json& json, bool trusted) {
  if (!json.is_object() || json.size() != 1) return std::unexpected(no_outcome("this is something else"));
  const std::string& kind = json.begin().key();
  const Json& value = json.begin().value();
  if (kind == "ok") return ok(value);
  if (kind == "failure") return failure(value);
  if (kind == "ask_user") return read_question(value);
  if (kind == "halt") return read_halt(value);
  if (kind == "error" && trusted) {
    Result<Error> error = from_json_value<Error>(value);
    if (!error) return std::unexpected(error.error());
    return ToolFailure{*std::move(error)};
  }
  return std::unexpected(no_outcome("'" + kind + "' is none of them"));
}

}  // namespace allm
