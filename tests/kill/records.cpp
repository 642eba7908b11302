#include "tests/kill/records.hpp"

#include <utility>
#include <vector>

#include "allm/serialize.hpp"
#include "allm/session_runner.hpp"

namespace allm::kill_matrix {
namespace {

Status add(Records& records, const LogEntry& entry) {
  if (entry.kind == "response") {
    const Result<Response> response = from_json_value<Response>(entry.body.value("response", Json(nullptr)));
    if (!response) return std::unexpected(response.error());
    ++records.responses[response->output_text.value_or("")];
  } else if (entry.kind == "dispatched") {
    ++records.dispatched[entry.body.at("call_id").get<std::string>()];
  } else if (entry.kind == "finished") {
    ++records.finished[entry.body.at("call_id").get<std::string>()];
  } else if (entry.kind == "run_started") {
    const Result<SessionOrder> order = session_order_from_json(entry.body.value("order", Json(nullptr)));
    if (!order) return std::unexpected(order.error());
    for (const CallDecision& decision : order->decisions) {
      if (decision.approval.kind() == Approval::Kind::allow) ++records.allowed[decision.tool_call_id];
    }
  }
  return {};
}

}  // namespace

Result<Records> read_records(SessionStore& store, const std::string& id) {
  Result<StoredSession> stored = store.load(id);
  if (!stored) return std::unexpected(stored.error());
  const Result<std::vector<LogEntry>> facts = store.read_log(id, 0, 10'000, "facts");
  if (!facts) return std::unexpected(facts.error());
  Records records{.stored = *std::move(stored)};
  for (const LogEntry& entry : *facts) {
    if (Status added = add(records, entry); !added) return std::unexpected(added.error());
  }
  return records;
}

}  // namespace allm::kill_matrix
