#include "data/validation_errors.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "data/failure.hpp"

namespace allm {

namespace {

struct Words {
  std::string_view reason;
  std::string_view field;  // empty: any field
  std::string_view words;
};

constexpr std::array kWords = {
    Words{"empty", "messages", "is empty: give at least one message"},
    Words{"empty", "name", "is empty: give the tool a name"},
    Words{"unknown", "role", "is unknown: use system, user, assistant or tool"},
    Words{"unknown", "", "is unknown"},
    Words{"invalid_part_type", "", "has a part that is not a text, image, file or audio part"},
    Words{"invalid_type", "content", "must be a text or a list of parts"},
    Words{"invalid_type", "messages", "must be a list of messages"},
    Words{"invalid_type", "", "has the wrong type"},
    Words{"invalid_utf8", "", "is not valid UTF-8"},
    Words{"required", "tool_call_id", "is required: a tool message names the call that it answers"},
    Words{"required", "", "is required"},
    Words{"unknown_field", "", "is not a field that is known here: remove it or put it into metadata"},
    Words{"reserved_tool_name", "", "may not be auto, none or required: rename the tool"},
    Words{"invalid_format", "name", "must be 1 to 64 letters, digits, '_' and '-'"},
    Words{"not_a_map", "", "must be a JSON object"},
    Words{"duplicate_name", "", "have a name twice"},
    Words{"out_of_range", "temperature", "must be a number from 0 to 2"},
    Words{"must_be_positive", "", "must be a positive integer"},
    Words{"invalid_shape", "response_format", "must be \"text\" or an object"},
    Words{"invalid_shape", "prompt_cache", "must have a key that is null or not empty, and a retention short or long"},
    Words{"requires_json_schema", "", "needs a response_format of type json_schema"},
    Words{"required_for_status", "", "is required by the session's status"},
    Words{"one_source_required", "", "needs exactly one source: url, base64, file or, for documents, file_id"},
    Words{"given_twice", "", "is given here and in metadata: give it once"},
    Words{"error_required_for_status", "", "must hold the error of a session whose status is error"},
};

std::string_view last_name(const Path& path) {
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    if (const auto* name = std::get_if<std::string>(&*step)) return *name;
  }
  return {};
}

std::string explain(const FieldError& error, const ErrorDetails& details) {
  const std::string path = to_string(error.path);
  if (error.reason == "duplicate_name" && !details.duplicate_name.empty()) {
    return fmt::format("{}: two tools are named '{}'", path, details.duplicate_name);
  }
  if (error.reason == "invalid_part_type" && !details.part_type.empty()) {
    return fmt::format(
        "{} has a part of type {}: expected ALLM.TextPart, ALLM.ImagePart, ALLM.FilePart or ALLM.AudioPart", path,
        details.part_type);
  }
  const std::string_view field = last_name(error.path);
  const auto* found = std::ranges::find_if(kWords, [&](const Words& entry) {
    return entry.reason == error.reason && (entry.field.empty() || entry.field == field);
  });
  if (found == kWords.end()) return fmt::format("{}: {}", path, error.reason);
  return fmt::format("{} {}", path, found->words);
}

}  // namespace

Error validation_errors(ValidationError::Reason reason, std::vector<FieldError> errors, const ErrorDetails& details,
                        Json metadata) {
  // Enough for a person; a program reads the errors themselves.
  constexpr std::size_t kMaxNamed = 100;
  std::string message(to_string(reason));
  std::ranges::replace(message, '_', ' ');
  for (std::size_t i = 0; i < std::min(errors.size(), kMaxNamed); ++i) {
    message += i == 0 ? ": " : "; ";
    message += explain(errors[i], details);
  }
  if (errors.size() > kMaxNamed) message += fmt::format("; and {} more", errors.size() - kMaxNamed);
  return Error(ValidationError{reason, std::move(errors)}, codec::printable(message), std::move(metadata));
}

}  // namespace allm
