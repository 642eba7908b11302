#include "allm/executor.hpp"
#include "allm/json.hpp"

#include "data/utf8.hpp"
#include "data/utf8_repair.hpp"

namespace allm {
namespace {

// Writing fails only for text that is not valid UTF-8 and numbers that JSON cannot express. Both are repaired here,
// because a failure must always reach the model.
std::string write_failure(const Json& value, const std::string& fallback) {
  if (auto written = write_json(value)) return *std::move(written);
  Json repaired = value;
  repaired["error"] = fallback;
  return write_json(repaired).value_or(R"({"error":"the failure cannot be written as JSON"})");
}

}  // namespace

Result<std::string> JsonToolResultEncoder::encode(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (!is_utf8(text)) {
      return std::unexpected(validation_error(ValidationError::Reason::invalid_request, {}, "invalid_utf8",
                                              "the result is text that is not valid UTF-8"));
    }
    return text;
  }
  return write_json(value);
}

std::string JsonToolResultEncoder::encode_failure(const ToolFailure& failure) {
  if (const auto* reported = std::get_if<Json>(&failure.reason)) {
    const std::string fallback = reported->is_string() ? repair_utf8(reported->get_ref<const std::string&>())
                                                       : "the failure cannot be written as JSON";
    return write_failure({{"error", *reported}}, fallback);
  }
  const Error& error = std::get<Error>(failure.reason);
  return write_failure({{"error", error.message()}, {"reason", error.reason()}}, repair_utf8(error.message()));
}

}  // namespace allm
