#include "data/end_codec.hpp"

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "allm/serialize.hpp"

#include "data/names.hpp"
#include "data/overloaded.hpp"

namespace allm::codec {
namespace {

using Which = ended::Limit::Which;

Json limit_facts(const ended::Limit& limit) {
  Json facts = Json::object();
  std::visit([&](auto value) { facts[std::string(enum_name(limit.which))] = value; }, limit.value);
  if (limit.cost_unknown) facts["cost_unknown"] = true;
  if (limit.needed) std::visit([&](auto needed) { facts["needed"] = needed; }, *limit.needed);
  if (limit.budget) facts["budget"] = true;
  if (limit.which == Which::max_repeated_failures) {
    facts["tool_name"] = limit.tool_name;
    facts["tool_call_id"] = limit.tool_call_id;
  }
  return facts;
}

// The facts that a step and a run have in common.
Json shared_facts(Json facts, const ended::AskUser& end) {
  facts["pending_question"] = end.question;
  facts["pending_tool_call_id"] = end.tool_call_id;
  facts["ask_user_opts"] = end.options;
  return facts;
}
Json shared_facts(Json facts, const ended::Halted& end) {
  facts["halt_tool_call_id"] = end.tool_call_id;
  facts["halt_result"] = end.result;
  return facts;
}
Json shared_facts(Json facts, const ended::ToolError& end) {
  facts["halt_tool_call_id"] = end.tool_call_id;
  if (end.policy_error) facts["on_tool_error_exception"] = to_json_value(*end.policy_error);
  return facts;
}

// Takes members out of metadata.
class Facts {
 public:
  explicit Facts(Json& metadata) : metadata_(metadata) {}

  Json take(const char* name, Json otherwise) {
    if (!metadata_.is_object()) return otherwise;
    const auto found = metadata_.find(name);
    if (found == metadata_.end()) return otherwise;
    Json value = std::move(*found);
    metadata_.erase(found);
    return value;
  }
  bool has_number(const char* name) const {
    return metadata_.is_object() && metadata_.contains(name) && metadata_[name].is_number();
  }
  std::string take_text(const char* name) {
    const Json value = take(name, nullptr);
    return value.is_string() ? value.get<std::string>() : std::string();
  }
  std::int64_t take_integer(const char* name) {
    const Json value = take(name, nullptr);
    return value.is_number_integer() ? value.get<std::int64_t>() : 0;
  }
  double take_real(const char* name) {
    const Json value = take(name, nullptr);
    return value.is_number() ? value.get<double>() : 0;
  }
  std::optional<Error> take_error(const char* name) {
    if (!metadata_.is_object() || !metadata_.contains(name)) return std::nullopt;
    Result<Error> error = from_json_value<Error>(metadata_[name]);
    if (!error) return std::nullopt;
    metadata_.erase(name);
    return *std::move(error);
  }
  std::vector<PendingToolCall> take_calls() {
    constexpr const char* name = "manual_tool_calls";
    std::vector<PendingToolCall> calls;
    if (!metadata_.is_object() || !metadata_.contains(name) || !metadata_[name].is_array()) return {};
    for (const Json& value : metadata_[name]) {
      Result<PendingToolCall> call = from_json_value<PendingToolCall>(value);
      if (!call) return {};
      calls.push_back(*std::move(call));
    }
    if (!calls.empty()) metadata_.erase(name);
    return calls;
  }

 private:
  Json& metadata_;
};

std::string name_of_call(const Response* response, const std::string& id) {
  if (response == nullptr) return {};
  for (const ToolCall& call : response->tool_calls) {
    if (call.id == id) return call.name;
  }
  return {};
}

ended::AskUser take_question(Facts& facts, const Response* response) {
  ended::AskUser end{.question = facts.take_text("pending_question"),
                     .options = facts.take("ask_user_opts", Json::object()),
                     .tool_call_id = facts.take_text("pending_tool_call_id")};
  end.tool_name = name_of_call(response, end.tool_call_id);
  return end;
}

ended::ToolError take_tool_error(Facts& facts) {
  return {.tool_call_id = facts.take_text("halt_tool_call_id"),
          .policy_error = facts.take_error("on_tool_error_exception")};
}

ended::Halted take_halt(Facts& facts, std::string reason) {
  return {.reason = std::move(reason),
          .result = facts.take("halt_result", nullptr),
          .tool_call_id = facts.take_text("halt_tool_call_id")};
}

ended::Limit take_limit(Facts& facts, Which which) {
  ended::Limit limit{.which = which};
  const std::string name(enum_name(which));
  if (which == Which::max_cost) {
    limit.value = facts.take_real(name.c_str());
    limit.cost_unknown = facts.take("cost_unknown", false) == true;
    if (facts.has_number("needed")) limit.needed = facts.take_real("needed");
  } else {
    limit.value = facts.take_integer(name.c_str());
    if (which == Which::max_total_tokens && facts.has_number("needed")) limit.needed = facts.take_integer("needed");
  }
  if (which == Which::max_cost || which == Which::max_total_tokens) limit.budget = facts.take("budget", false) == true;
  if (which == Which::max_repeated_failures) {
    limit.tool_name = facts.take_text("tool_name");
    limit.tool_call_id = facts.take_text("tool_call_id");
  }
  return limit;
}

StepEnd take_step_end(Facts& facts, const Json& metadata, const Response& response) {
  const auto found = metadata.is_object() ? metadata.find("halted_reason") : metadata.end();
  if (metadata.is_object() && found != metadata.end() && found->is_string()) {
    std::string reason = facts.take_text("halted_reason");
    if (reason == halted::ask_user) return take_question(facts, &response);
    if (reason == halted::tool_error) return take_tool_error(facts);
    if (reason == halted::cancelled) return ended::Cancelled{};
    return take_halt(facts, std::move(reason));
  }
  if (std::vector<PendingToolCall> calls = facts.take_calls(); !calls.empty()) return ended::Manual{std::move(calls)};
  if (metadata.is_object() && metadata.value("mode", Json()) == to_string(Mode::manual)) {
    facts.take("mode", nullptr);
    return ended::Manual{};
  }
  if (response.finish_reason == FinishReason::error) return ended::Failed{response.error};
  return ended::Completed{};
}

RunEnd take_run_end(Facts& facts, EndFields fields, const Response* response) {
  const std::string& reason = fields.halted_reason;
  if (reason == halted::completed) return ended::Completed{};
  if (reason == halted::ask_user) {
    ended::AskUser end = take_question(facts, response);
    if (fields.pending_question) end.question = *std::move(fields.pending_question);
    if (fields.pending_tool_call_id) end.tool_call_id = *std::move(fields.pending_tool_call_id);
    end.tool_name = name_of_call(response, end.tool_call_id);
    return end;
  }
  if (reason == halted::tool_error) return take_tool_error(facts);
  if (reason == halted::manual_tool_calls) {
    std::vector<PendingToolCall> calls = facts.take_calls();
    return ended::Manual{std::move(calls), facts.take_integer("manual_turn_index")};
  }
  if (reason == halted::cancelled) return ended::Cancelled{};
  if (reason == halted::error) return ended::Failed{facts.take_error("error")};
  if (reason == halted::max_turns) return ended::MaxTurns{facts.take_integer("max_turns")};
  if (reason == halted::halt_when) return ended::HaltWhen{facts.take_integer("halt_when_step_index")};
  if (const std::optional<Which> which = enum_from_name<Which>(reason)) return take_limit(facts, *which);
  return take_halt(facts, std::move(fields.halted_reason));
}

Json calls_value(const std::vector<PendingToolCall>& calls) {
  Json list = Json::array();
  for (const PendingToolCall& call : calls) list.push_back(to_json_value(call));
  return list;
}

// Metadata that are written as an object are one after reading, too.
template <class Result>
void replace_null(Result& result) {
  if (result.metadata.is_null() && !result.full_metadata().is_null()) result.metadata = Json::object();
}

bool can_have_members(const Json& metadata) { return metadata.is_object() || metadata.is_null(); }

}  // namespace

Json end_facts(const StepEnd& end) {
  const auto with_reason = [](std::string_view reason) { return Json{{"halted_reason", reason}}; };
  return std::visit(
      Overloaded{
          [](const ended::Completed&) { return Json::object(); },
          [&](const ended::AskUser& ask) { return shared_facts(with_reason(halted::ask_user), ask); },
          [&](const ended::Halted& halt) { return shared_facts(with_reason(halt.reason), halt); },
          [&](const ended::ToolError& error) { return shared_facts(with_reason(halted::tool_error), error); },
          [](const ended::Manual& manual) {
            return manual.calls.empty() ? Json{{"mode", to_string(Mode::manual)}} : Json::object();
          },
          [&](const ended::Cancelled&) { return with_reason(halted::cancelled); },
          [](const ended::Failed&) { return Json::object(); },
      },
      end);
}

Json end_facts(const RunEnd& end) {
  return std::visit(Overloaded{
                        [](const ended::Completed&) { return Json::object(); },
                        [](const ended::AskUser& ask) { return shared_facts(Json::object(), ask); },
                        [](const ended::Halted& halt) { return shared_facts(Json::object(), halt); },
                        [](const ended::ToolError& error) { return shared_facts(Json::object(), error); },
                        [](const ended::Manual& manual) { return Json{{"manual_turn_index", manual.turn_index}}; },
                        [](const ended::Cancelled&) { return Json::object(); },
                        [](const ended::Failed&) { return Json::object(); },
                        [](const ended::Limit& limit) { return limit_facts(limit); },
                        [](const ended::MaxTurns& turns) { return Json{{"max_turns", turns.max_turns}}; },
                        [](const ended::HaltWhen& halt) { return Json{{"halt_when_step_index", halt.step_index}}; },
                    },
                    end);
}

Json with_metadata(Json facts, const Json& metadata) {
  if (facts.empty() || !can_have_members(metadata)) return metadata;
  if (metadata.is_null()) return facts;
  for (const auto& [name, value] : metadata.items()) {
    if (!facts.contains(name)) facts[name] = value;
  }
  return facts;
}

EndFields end_fields(const RunEnd& end) {
  EndFields fields{.halted_reason = halted_reason(end)};
  if (const auto* ask = std::get_if<ended::AskUser>(&end)) {
    fields.pending_question = ask->question;
    fields.pending_tool_call_id = ask->tool_call_id;
  }
  return fields;
}

void take_end(StepResult& result) {
  Facts facts(result.metadata);
  result.end = take_step_end(facts, result.metadata, result.response);
  replace_null(result);
}

void take_end(ChatResult& result, EndFields fields) {
  Facts facts(result.metadata);
  const Response* response = result.final_response ? &*result.final_response : nullptr;
  result.end = take_run_end(facts, std::move(fields), response);
  replace_null(result);
}

}  // namespace allm::codec

namespace allm {

Json StepResult::full_metadata() const {
  Json full = codec::with_metadata(codec::end_facts(end), metadata);
  if (!codec::can_have_members(full)) return full;
  if (!manual_tool_calls().empty()) full["manual_tool_calls"] = codec::calls_value(manual_tool_calls());
  return full;
}

Json ChatResult::full_metadata() const {
  Json full = codec::with_metadata(codec::end_facts(end), metadata);
  if (!codec::can_have_members(full)) return full;
  if (const Error* failed = error()) full["error"] = to_json_value(*failed);
  if (!manual_tool_calls().empty()) full["manual_tool_calls"] = codec::calls_value(manual_tool_calls());
  return full;
}

}  // namespace allm
