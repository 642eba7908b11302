#include "testing/recording/redact_json.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "providers/provider_json.hpp"
#include "providers/redact.hpp"

namespace allm {
namespace {

void redact_keys(Json::object_t& members, std::string_view provider_key) {
  const auto is_clean = [&](const auto& member) { return redact(member.first, provider_key) == member.first; };
  if (std::all_of(members.begin(), members.end(), is_clean)) return;
  Json::object_t renamed;
  renamed.reserve(members.size());
  for (auto& [name, value] : members) {
    const std::string cleaned = redact(name, provider_key);
    std::string unique = cleaned;
    for (int i = 2; renamed.find(unique) != renamed.end(); ++i) unique = cleaned + " " + std::to_string(i);
    renamed.emplace(unique, std::move(value));
  }
  members = std::move(renamed);
}

// Whether `value` is the source of an image, a file or audio that contains the data.
bool is_media_data(const Json& value) {
  const std::string_view type = text_member(value, "type");
  return value.size() == 2 && (type == "base64" || type == "binary") && find_member(value, "value") != nullptr;
}
bool is_media(const Json& value) {
  const std::string_view type = text_member(value, "__type__");
  return type == "ALLM.Image" || type == "ALLM.File" || type == "ALLM.Audio";
}

// The pieces of each text that is sent in pieces, by a unique name of the text.
using Pieces = std::map<std::string, std::vector<std::string*>>;

void add_strings(Json& value, Pieces& pieces) {
  std::vector<std::pair<Json*, std::string>> open = {{&value, "chunk"}};
  while (!open.empty()) {
    const auto [node, path] = std::move(open.back());
    open.pop_back();
    if (auto* text = node->get_ptr<std::string*>()) {
      pieces[path].push_back(text);
    } else if (auto* elements = node->get_ptr<Json::array_t*>()) {
      for (std::size_t i = 0; i < elements->size(); ++i) {
        open.emplace_back(&(*elements)[i], path + "/" + std::to_string(i));
      }
    } else if (auto* members = node->get_ptr<Json::object_t*>()) {
      for (auto& [name, member] : *members) open.emplace_back(&member, path + "/" + name);
    }
  }
}

}  // namespace

void redact_value(Json& value, std::string_view provider_key) {
  // A list of open nodes instead of recursion, because the depth of values is not limited.
  struct Node {
    Json* value;
    bool in_media;
  };
  std::vector<Node> open = {{&value, false}};
  while (!open.empty()) {
    const auto [node, in_media] = open.back();
    open.pop_back();
    if (auto* text = node->get_ptr<std::string*>()) {
      *text = redact(*text, provider_key);
    } else if (auto* elements = node->get_ptr<Json::array_t*>()) {
      for (Json& element : *elements) open.push_back({&element, false});
    } else if (auto* members = node->get_ptr<Json::object_t*>()) {
      const bool media = is_media(*node);
      redact_keys(*members, provider_key);
      for (auto& [name, member] : *members) {
        const bool skipped = in_media && name == "source" && is_media_data(member);
        if (!skipped) open.push_back({&member, media && name == "data"});
      }
    }
  }
}

void redact_events(Json& events, std::string_view provider_key) {
  Pieces pieces;
  for (Json& event : events) {
    const std::string type(text_member(event, "type"));
    const bool is_arguments = type == "tool_call_delta";
    if (!is_arguments && type != "text_delta" && type != "reasoning_delta") {
      redact_value(event, provider_key);
      // Raw chunks hold the same deltas, at a place that depends on the provider.
      if (type == "raw_chunk") add_strings(event["chunk"], pieces);
      continue;
    }
    Json& delta = event[is_arguments ? "arguments_delta" : "delta"];
    if (const auto id = event.find("id"); id != event.end()) redact_value(*id, provider_key);
    pieces[type + (event.contains("id") ? " " : "") + std::string(text_member(event, "id"))].push_back(
        delta.get_ptr<std::string*>());
  }
  for (const auto& [name, texts] : pieces) redact_pieces(texts, provider_key);
}

}  // namespace allm
