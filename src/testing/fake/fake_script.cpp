#include <set>
#include <string>
#include <utility>

#include "allm/fake.hpp"
#include "allm/serialize.hpp"

namespace allm {
namespace {

// Reads a script. Stops at the first error and reports it with its path.
class ScriptReader {
 public:
  Result<FakeScript> read(const Json& json) {
    if (!json.is_array()) return fail({std::string("scripts")}, "invalid_type", "scripts must be an array of arrays");
    FakeScript script;
    for (std::size_t call = 0; call < json.size(); ++call) {
      path_ = {std::string("scripts"), static_cast<std::int64_t>(call)};
      if (!json[call].is_array()) return fail(path_, "invalid_type", "a call's script must be an array of entries");
      FakeCallScript entries;
      for (std::size_t i = 0; i < json[call].size(); ++i) {
        path_ = {std::string("scripts"), static_cast<std::int64_t>(call), static_cast<std::int64_t>(i)};
        Result<FakeEntry> entry = read_entry(json[call][i]);
        if (!entry) return std::unexpected(entry.error());
        entries.push_back(*std::move(entry));
      }
      script.push_back(std::move(entries));
    }
    return script;
  }

 private:
  static std::unexpected<Error> fail(Path path, std::string reason, std::string message) {
    const std::string where = to_string(path);
    return std::unexpected(validation_error(ValidationError::Reason::invalid_scenario, std::move(path),
                                            std::move(reason), where + ": " + std::move(message)));
  }

  Result<FakeEntry> read_entry(const Json& json) {
    if (!json.is_object() || json.size() != 1) {
      return fail(path_, "invalid_type", "a script entry must be an object with one key");
    }
    const std::string& kind = json.begin().key();
    const Json& value = *json.begin();
    path_.emplace_back(kind);
    if (kind == "text" || kind == "reasoning") {
      if (!value.is_string()) return fail(path_, "invalid_type", "must be a text");
      if (kind == "reasoning") return FakeReasoning{value.get<std::string>()};
      return FakeText{value.get<std::string>()};
    }
    if (kind == "tool_call") return read_call(value);
    if (kind == "tool_call_delta") return read_call_delta(value);
    if (kind == "usage") {
      Result<Usage> usage = from_json_value<Usage>(value);
      if (!usage) return fail(path_, "invalid_type", usage.error().message());
      if (!usage->unknown_fields.is_null()) return fail(path_, "unknown_field", "names a counter that does not exist");
      return FakeUsage{*std::move(usage)};
    }
    if (kind == "raw_chunk") return FakeRawChunk{value};
    if (kind == "finish") {
      const auto reason =
          value.is_string() ? finish_reason_from_string(value.get_ref<const std::string&>()) : std::nullopt;
      if (!reason) return fail(path_, "unknown", "must be stop, length, tool_calls, content_filter, error or other");
      return FakeFinish{*reason};
    }
    if (kind == "expect_tool_choice") {
      if (value.is_null()) return FakeExpectToolChoice{};
      return FakeExpectToolChoice{ToolChoice::from_json(value)};
    }
    if (kind == "delay") {
      if (!value.is_number_integer() || value.get<std::int64_t>() < 0) {
        return fail(path_, "invalid_type", "must be a number of milliseconds");
      }
      return FakeDelay{std::chrono::milliseconds(value.get<std::int64_t>())};
    }
    if (kind == "error" || kind == "preflight_error") {
      if (!value.is_string()) return fail(path_, "invalid_type", "must be a reason");
      Error error = adapter_error(value.get<std::string>());
      if (kind == "error") return FakeError{std::move(error)};
      return FakePreflightError{std::move(error)};
    }
    return fail(path_, "unknown", "is not a script entry");
  }

  // A reason outside the closed set becomes `unknown`, with the word as its cause.
  static Error adapter_error(const std::string& word) {
    const auto reason = reason_from_string<AdapterError::Reason>(word);
    if (reason) return Error(AdapterError{.reason = *reason, .provider = "fake"});
    return Error(AdapterError{.reason = AdapterError::Reason::unknown, .provider = "fake"}, "", Json::object(), word);
  }

  Result<FakeEntry> read_call(const Json& value) {
    if (Status known = check_fields(value, {"id", "name", "arguments", "raw_arguments"}); !known) {
      return std::unexpected(known.error());
    }
    FakeToolCall call;
    if (!read_text(value, "id", call.id) || !read_text(value, "name", call.name)) {
      return fail(path_, "required", "id and name must be texts");
    }
    if (const auto raw = value.find("raw_arguments"); raw != value.end()) {
      if (!raw->is_string()) return fail(path_, "invalid_type", "raw_arguments must be a text");
      call.raw_arguments = raw->get<std::string>();
    }
    if (const auto arguments = value.find("arguments"); arguments != value.end()) call.arguments = *arguments;
    return call;
  }

  Result<FakeEntry> read_call_delta(const Json& value) {
    if (Status known = check_fields(value, {"id", "arguments_delta"}); !known) return std::unexpected(known.error());
    FakeToolCallDelta delta;
    if (!read_text(value, "id", delta.id) || !read_text(value, "arguments_delta", delta.arguments_delta)) {
      return fail(path_, "required", "id and arguments_delta must be texts");
    }
    return delta;
  }

  static bool read_text(const Json& object, const char* key, std::string& target) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string()) return false;
    target = found->get<std::string>();
    return true;
  }

  Status check_fields(const Json& value, const std::set<std::string>& known) const {
    if (!value.is_object()) return fail(path_, "invalid_type", "must be an object");
    for (const auto& [key, entry] : value.items()) {
      if (!known.contains(key)) return fail(path_, "unknown_field", "has an unknown key '" + key + "'");
    }
    return {};
  }

  Path path_;
};

}  // namespace

Result<FakeScript> fake_script_from_json(const Json& json) { return ScriptReader().read(json); }

}  // namespace allm
