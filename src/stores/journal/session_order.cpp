#include <utility>

#include "allm/serialize.hpp"
#include "allm/session_runner.hpp"

#include "stores/journal/approval_json.hpp"

namespace allm {
namespace {

Error invalid_order(std::string message) {
  return validation_error(ValidationError::Reason::invalid_request, {std::string("order")}, "invalid_value",
                          "invalid order: " + std::move(message));
}

Json message_to_order(const Message& message) {
  const auto* text = std::get_if<std::string>(&message.content);
  if (text != nullptr && message == user(*text)) return *text;
  return to_json_value(message);
}

Result<Message> message_of_order(const Json& json) {
  if (json.is_string()) return user(json.get<std::string>());
  Result<Message> message = from_json_value<Message>(json);
  if (!message) return std::unexpected(invalid_order("the message cannot be read: " + message.error().message()));
  return message;
}

Result<std::string> call_id_of(const Json& json) {
  if (!json.is_object()) return std::unexpected(invalid_order("an answer to a call must be an object"));
  const auto id = json.find("tool_call_id");
  if (id == json.end() || !id->is_string()) return std::unexpected(invalid_order("tool_call_id must be a text"));
  return id->get<std::string>();
}

Result<std::vector<SubmittedResult>> results_of_order(const Json& json) {
  if (!json.is_array()) return std::unexpected(invalid_order("results must be a list"));
  std::vector<SubmittedResult> results;
  for (const Json& item : json) {
    Result<std::string> id = call_id_of(item);
    if (!id) return std::unexpected(id.error());
    const auto failed = item.find("is_error");
    if (failed != item.end() && !failed->is_boolean())
      return std::unexpected(invalid_order("is_error must be a boolean"));
    results.push_back(
        {*std::move(id), item.value("result", Json(nullptr)), failed != item.end() && failed->get<bool>()});
  }
  return results;
}

Result<std::vector<CallDecision>> decisions_of_order(const Json& json) {
  if (!json.is_array()) return std::unexpected(invalid_order("decisions must be a list"));
  std::vector<CallDecision> decisions;
  for (const Json& item : json) {
    Result<std::string> id = call_id_of(item);
    if (!id) return std::unexpected(id.error());
    std::optional<Approval> approval = approval_from_json(item);
    if (!approval) return std::unexpected(invalid_order("decision must be allow, deny or suspend"));
    decisions.push_back({*std::move(id), *std::move(approval)});
  }
  return decisions;
}

// Reads the member that says what to do.
Status read_task(const std::string& name, const Json& value, SessionOrder& order) {
  if (name == "start" || name == "continue") {
    order.kind = name == "start" ? SessionOrder::Kind::start : SessionOrder::Kind::continue_run;
    if (value != true) return std::unexpected(invalid_order(name + " must be true"));
    return {};
  }
  if (name == "message" || name == "answer") {
    order.kind = SessionOrder::Kind::message;
    Result<Message> message = message_of_order(value);
    if (!message) return std::unexpected(message.error());
    order.message = *std::move(message);
    return {};
  }
  if (name == "results") {
    order.kind = SessionOrder::Kind::results;
    Result<std::vector<SubmittedResult>> results = results_of_order(value);
    if (!results) return std::unexpected(results.error());
    order.results = *std::move(results);
    return {};
  }
  if (name != "decisions") return std::unexpected(invalid_order("'" + name + "' is unknown"));
  order.kind = SessionOrder::Kind::decisions;
  Result<std::vector<CallDecision>> decisions = decisions_of_order(value);
  if (!decisions) return std::unexpected(decisions.error());
  order.decisions = *std::move(decisions);
  return {};
}

}  // namespace

Json session_order_to_json(const SessionOrder& order) {
  Json json = Json::object();
  switch (order.kind) {
    case SessionOrder::Kind::start:
      json["start"] = true;
      break;
    case SessionOrder::Kind::continue_run:
      json["continue"] = true;
      break;
    case SessionOrder::Kind::message:
      json["message"] = message_to_order(order.message.value_or(user("")));
      break;
    case SessionOrder::Kind::results: {
      Json& list = json["results"] = Json::array();
      for (const SubmittedResult& result : order.results) {
        list.push_back(
            {{"tool_call_id", result.tool_call_id}, {"result", result.result}, {"is_error", result.is_error}});
      }
      break;
    }
    case SessionOrder::Kind::decisions: {
      Json& list = json["decisions"] = Json::array();
      for (const CallDecision& decision : order.decisions) {
        Json item = {{"tool_call_id", decision.tool_call_id}};
        item.update(approval_to_json(decision.approval));
        list.push_back(std::move(item));
      }
      break;
    }
  }
  if (order.epoch) json["epoch"] = *order.epoch;
  return json;
}

Result<SessionOrder> session_order_from_json(const Json& json) {
  if (!json.is_object()) return std::unexpected(invalid_order("it is not an object"));
  SessionOrder order;
  int tasks = 0;
  for (const auto& [name, value] : json.items()) {
    if (name == "epoch") {
      if (!value.is_number_integer()) return std::unexpected(invalid_order("epoch must be an integer"));
      order.epoch = value.get<std::int64_t>();
      continue;
    }
    if (Status read = read_task(name, value, order); !read) return std::unexpected(read.error());
    ++tasks;
  }
  if (tasks != 1) {
    return std::unexpected(
        invalid_order("it must have exactly one of start, continue, message, answer, results and decisions"));
  }
  return order;
}

}  // namespace allm
