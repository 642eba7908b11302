#include "stores/journal/approval_json.hpp"

#include <string>

namespace allm {

Json approval_to_json(const Approval& approval) {
  switch (approval.kind()) {
    case Approval::Kind::allow: {
      Json json = {{"decision", "allow"}};
      if (approval.arguments()) json["arguments"] = *approval.arguments();
      return json;
    }
    case Approval::Kind::suspend:
      return {{"decision", "suspend"}};
    case Approval::Kind::none:
    case Approval::Kind::deny:
      break;
  }
  return {{"decision", "deny"}, {"reason", approval.reason()}};
}

std::optional<Approval> approval_from_json(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const auto decision = json.find("decision");
  if (decision == json.end()) return std::nullopt;
  const auto arguments = json.find("arguments");
  if (*decision == "allow") return arguments == json.end() ? Approval::allow() : Approval::allow_with(*arguments);
  if (*decision == "suspend") return Approval::suspend();
  if (*decision != "deny") return std::nullopt;
  const auto reason = json.find("reason");
  return Approval::deny(reason != json.end() && reason->is_string() ? reason->get<std::string>() : std::string());
}

}  // namespace allm
