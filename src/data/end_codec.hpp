// Ends in JSON: the one place that turns a StepEnd or RunEnd into the reason and the metadata members that stand for
// it, and back.
#pragma once

#include <optional>
#include <string>

#include "allm/result.hpp"

namespace allm::codec {

// The facts that metadata has of an end, but for the error and the pending calls, which are values of their own.
Json end_facts(const StepEnd& end);
Json end_facts(const RunEnd& end);
// `facts` and what `metadata` has beside them. Null if metadata is and there are no facts.
Json with_metadata(Json facts, const Json& metadata);

// What a result's JSON says about its end outside of `metadata`.
struct EndFields {
  std::string halted_reason = std::string(halted::completed);
  std::optional<std::string> pending_question = std::nullopt;
  std::optional<std::string> pending_tool_call_id = std::nullopt;
};
EndFields end_fields(const RunEnd& end);

// Take the end out of the metadata that were read. Members that are no facts of this end stay there, and so do an error
// or calls that cannot be read.
void take_end(StepResult& result);
void take_end(ChatResult& result, EndFields fields);

}  // namespace allm::codec
