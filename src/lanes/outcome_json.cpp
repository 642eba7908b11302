#include "lanes/outcome_json.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "allm/serialize.hpp"
#include "allm/validate.hpp"

namespace allm {
namespace {

Error invalid_outcome(std::string error) {
  return validation_error(
      ValidationError::Reason::invalid_request, {"outcome"}, "invalid_value",
      "an outcome is an object with one of ok, ok_parts, failure, ask_user and halt; " + std::move(error));
}

bool names_file(const Part& part) {
  if (const auto* image = std::get_if<ImagePart>(&part)) return std::holds_alternative<MediaPath>(image->image.source);
  if (const auto* file = std::get_if<FilePart>(&part)) return std::holds_alternative<MediaPath>(file->file.source);
  if (const auto* audio = std::get_if<AudioPart>(&part)) return std::holds_alternative<MediaPath>(audio->audio.source);
  return false;
}

Result<ToolOutcome> read_question(const Json& value) {
  if (!value.is_object() || !value.contains("question") || !value["question"].is_string()) {
    return std::unexpected(invalid_outcome("ask_user needs an object with a question"));
  }
  return ask_user(value["question"].get<std::string>(), value.value("options", Json::object()));
}

Result<ToolOutcome> read_halt(const Json& value) {
  if (!value.is_object() || !value.contains("reason") || !value["reason"].is_string()) {
    return std::unexpected(invalid_outcome("halt needs an object with a reason"));
  }
  return halt(value["reason"].get<std::string>(), value.value("result", Json(nullptr)));
}

template <class Source>
Status hold_bytes(Source& source, const Result<std::string>& bytes) {
  if (!bytes) return std::unexpected(bytes.error());
  source = MediaBytes{*bytes};
  return {};
}

// Replaces the path of a file by its bytes.
Status hold_bytes(Part& part) {
  if (auto* image = std::get_if<ImagePart>(&part)) {
    if (names_file(part)) return hold_bytes(image->image.source, image_bytes(image->image));
  } else if (auto* file = std::get_if<FilePart>(&part)) {
    if (names_file(part)) return hold_bytes(file->file.source, file_bytes(file->file));
  } else if (auto* audio = std::get_if<AudioPart>(&part)) {
    if (names_file(part)) return hold_bytes(audio->audio.source, audio_bytes(audio->audio));
  }
  return {};
}

Result<Json> write_parts(std::vector<Part> parts) {
  for (Part& part : parts) {
    if (Status held = hold_bytes(part); !held) return std::unexpected(held.error());
  }
  return to_json_value(user(std::move(parts)))["data"]["content"];
}

Result<ToolOutcome> read_parts(const Json& value) {
  Result<std::vector<Part>> parts = parts_from_json(value);
  if (!parts) return std::unexpected(invalid_outcome(parts.error().message()));
  if (std::ranges::any_of(*parts, names_file)) {
    return std::unexpected(invalid_outcome("ok_parts cannot name files of this machine: send their bytes as base64"));
  }
  if (parts->empty()) return std::unexpected(invalid_outcome("ok_parts needs a part"));
  return ok(*std::move(parts));
}

}  // namespace

Result<std::string> write_outcome(const ToolOutcome& outcome) {
  Json json = Json::object();
  if (const auto* value = std::get_if<ToolOk>(&outcome)) {
    if (value->parts.empty()) {
      json["ok"] = value->value;
    } else {
      Result<Json> parts = write_parts(value->parts);
      if (!parts) return std::unexpected(parts.error());
      json["ok_parts"] = *std::move(parts);
    }
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
  if (!json.is_object() || json.size() != 1) return std::unexpected(invalid_outcome("this is something else"));
  const std::string& kind = json.begin().key();
  const Json& value = json.begin().value();
  if (kind == "ok") return ok(value);
  if (kind == "ok_parts") return read_parts(value);
  if (kind == "failure") return failure(value);
  if (kind == "ask_user") return read_question(value);
  if (kind == "halt") return read_halt(value);
  if (kind == "error" && trusted) {
    Result<Error> error = from_json_value<Error>(value);
    if (!error) return std::unexpected(error.error());
    return ToolFailure{*std::move(error)};
  }
  return std::unexpected(invalid_outcome("'" + kind + "' is none of them"));
}

}  // namespace allm
