#include "stores/journal/facts.hpp"

#include <array>
#include <optional>

#include "allm/serialize.hpp"
#include "allm/validate.hpp"

#include "lanes/outcome_json.hpp"
#include "stores/journal/approval_json.hpp"

namespace allm {
namespace {

using Answered = RunJournal::Answered;
using RecordedAnswer = RunJournal::RecordedAnswer;

constexpr std::array<std::pair<Answered, std::string_view>, 4> kAnswered = {{
    {Answered::by_handler, "by_handler"},
    {Answered::at_once, "at_once"},
    {Answered::as_refused, "as_refused"},
    {Answered::over_limit, "over_limit"},
}};

std::optional<Answered> answered_from(const Json& name) {
  for (const auto& [how, text] : kAnswered) {
    if (name == text) return how;
  }
  return std::nullopt;
}

std::string_view name_of_answered(Answered how) {
  for (const auto& [known, text] : kAnswered) {
    if (known == how) return text;
  }
  return {};
}

// Parts keep the names of files: the program itself reads this again.
Result<Json> outcome_json(const ToolOutcome& outcome) {
  if (const auto* value = std::get_if<ToolOk>(&outcome); value != nullptr && !value->parts.empty()) {
    Json json = {{"ok_parts", to_json_value(user(value->parts))["data"]["content"]}};
    if (const Result<std::string> text = write_json(json); !text) return std::unexpected(text.error());
    return json;
  }
  const Result<std::string> text = write_outcome(outcome);
  if (!text) return std::unexpected(text.error());
  return parse_json(*text);
}

Result<ToolOutcome> outcome_from(const Json& json) {
  if (json.is_object() && json.contains("ok_parts")) {
    Result<std::vector<Part>> parts = parts_from_json(json["ok_parts"]);
    if (!parts) return std::unexpected(parts.error());
    return ok(*std::move(parts));
  }
  return read_outcome(json, true);
}

// Reads one fact; the message of an error, or nullopt.
class FactReader {
 public:
  FactReader(RecordedRun& run, const Json& body) : run_(run), body_(body) {}

  std::optional<std::string> read(std::string_view kind) {
    if (!body_.is_object()) return "it is not an object";
    if (kind != fact::response && kind != fact::decided && kind != fact::dispatched && kind != fact::finished) {
      return std::nullopt;
    }
    const auto step = body_.find("step");
    if (step == body_.end() || !step->is_number_integer()) return "it has no step";
    step_ = step->get<int>();
    if (kind == fact::response) return read_response();
    if (kind == fact::decided) return read_decisions();
    const auto id = body_.find("call_id");
    if (id == body_.end() || !id->is_string()) return "it has no call_id";
    call_ = {step_, id->get<std::string>()};
    if (kind == fact::finished) return read_answer();
    run_.dispatched.insert(call_);
    return std::nullopt;
  }

 private:
  std::optional<std::string> read_response() {
    Result<Response> response = from_json_value<Response>(body_.value("response", Json(nullptr)));
    if (!response) return response.error().message();
    run_.responses.insert_or_assign(step_, *std::move(response));
    return std::nullopt;
  }
  std::optional<std::string> read_decisions() {
    std::vector<Approval> decisions;
    for (const Json& item : body_.value("decisions", Json::array())) {
      std::optional<Approval> approval = approval_from_json(item);
      if (!approval) return "it has an unknown decision";
      decisions.push_back(*std::move(approval));
    }
    run_.decisions.insert_or_assign(step_, std::move(decisions));
    return std::nullopt;
  }
  std::optional<std::string> read_answer() {
    const std::optional<Answered> how = answered_from(body_.value("how", Json(nullptr)));
    if (!how) return "'how' is unknown";
    Result<ToolOutcome> outcome = outcome_from(body_.value("outcome", Json(nullptr)));
    if (!outcome) return outcome.error().message();
    run_.answers.insert_or_assign(call_, RecordedAnswer{*std::move(outcome), *how});
    return std::nullopt;
  }

  RecordedRun& run_;
  const Json& body_;
  int step_ = 0;
  RecordedRun::CallKey call_;
};

}  // namespace

LogEntry make_fact(std::string_view kind, Json body) { return {.kind = std::string(kind), .body = std::move(body)}; }

LogEntry order_refused_fact(std::int64_t job, const Error& error) {
  return make_fact(fact::order_refused, {{"job", job}, {"error", to_json_value(error)}});
}

LogEntry attempt_failed_fact(std::int64_t job, const Error& error) {
  return make_fact(fact::attempt_failed, {{"job", job}, {"error", to_json_value(error)}});
}

Error corrupted_journal(const std::string& session_id, const std::string& what) {
  return Error(StoreError{StoreError::Reason::corrupted, session_id},
               "the journal of session '" + session_id + "' cannot be read: " + what);
}

Status add_facts(RecordedRun& run, const std::string& session_id, std::span<const LogEntry> facts) {
  for (const LogEntry& entry : facts) {
    if (auto problem = FactReader(run, entry.body).read(entry.kind)) {
      return std::unexpected(corrupted_journal(
          session_id, "entry " + std::to_string(entry.number) + " (" + entry.kind + "): " + *std::move(problem)));
    }
  }
  return {};
}

std::vector<Event> response_events(const Response& response) {
  std::vector<Event> events;
  events.emplace_back(MessageStarted{.message = assistant("")});
  if (response.reasoning && !response.reasoning->empty()) events.emplace_back(ReasoningDelta{*response.reasoning});
  if (response.output_text && !response.output_text->empty()) {
    events.emplace_back(TextDelta{.delta = *response.output_text});
    events.emplace_back(TextCompleted{.text = *response.output_text});
  }
  for (const ToolCall& call : response.tool_calls) {
    events.emplace_back(ToolCallStarted{call.id, call.name});
    events.emplace_back(ToolCallCompleted{call});
  }
  events.emplace_back(MessageCompleted{.message = response.message.value_or(assistant("")),
                                       .finish_reason = response.finish_reason,
                                       .usage = response.usage,
                                       .request_id = response.request_id,
                                       .id = response.id,
                                       .model = response.model,
                                       .raw_finish_reason = response.raw_finish_reason,
                                       .reasoning = response.reasoning,
                                       .metadata = response.metadata});
  return events;
}

Result<Json> finished_fact(int step, const ToolCall& call, const RecordedAnswer& answer) {
  Result<Json> outcome = outcome_json(answer.outcome);
  if (!outcome) return std::unexpected(outcome.error());
  return Json{{"step", step}, {"call_id", call.id}, {"how", name_of_answered(answer.how)}, {"outcome", *outcome}};
}

}  // namespace allm
