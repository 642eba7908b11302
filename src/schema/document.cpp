#include "schema/document.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "schema/uri.hpp"

namespace allm::schema_detail {
namespace {

// Every resource stores its whole URI, so one long base would be multiplied by their number.
constexpr std::size_t kMaxUri = 8192;
constexpr std::size_t kLargeObject = 32;

const std::string* string_member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

std::string unescape_token(std::string_view token) {
  std::string result;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
      result += token[++i] == '0' ? '~' : '/';
    } else {
      result += token[i];
    }
  }
  return result;
}

std::optional<std::size_t> array_index(const std::string& token) {
  std::size_t value = 0;
  const char* end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, value);
  if (error != std::errc{} || stop != end || (token.size() > 1 && token.front() == '0')) return std::nullopt;
  return value;
}

}  // namespace

Document::Document(const Json& root, Dialect dialect, Program& program, CompileErrors& errors)
    : dialect_(dialect), program_(program), errors_(errors) {
  index(root, nullptr, {}, nullptr);
}

const Node* Document::node_of(const Json& text) const {
  const auto found = nodes_.find(&text);
  return found == nodes_.end() ? nullptr : found->second;
}

Node* Document::index(const Json& text, const Node* parent, Path steps, Resource* resource) {
  if (!text.is_object() && !text.is_boolean()) return nullptr;
  if (const auto known = nodes_.find(&text); known != nodes_.end()) return known->second;
  Node& node = program_.nodes.emplace_back();
  node.parent = parent;
  node.steps = std::move(steps);
  nodes_.emplace(&text, &node);
  sources_.push_back({.text = &text, .node = &node});
  resource = identify(text, node, resource);
  node.resource = resource;
  if (text.is_boolean()) return &node;
  // In draft-07 a reference hides its siblings, but definitions are commonly written beside it.
  const bool only_definitions = dialect_ == Dialect::draft7 && string_member(text, "$ref") != nullptr;
  for (const auto& [name, value] : text.get_ref<const Json::object_t&>()) {
    const KeywordInfo* keyword = find_keyword(name, dialect_);
    if (keyword == nullptr || (only_definitions && keyword->keyword != Keyword::definitions)) continue;
    index_below(*keyword, value, node, resource);
  }
  return &node;
}

void Document::index_below(const KeywordInfo& keyword, const Json& value, const Node& node, Resource* resource) {
  const std::string name(keyword.name);
  if (keyword.shape == Shape::plain) return;
  if (keyword.shape == Shape::schema_map) {
    if (!value.is_object()) return;
    for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
      index(member, &node, {name, key}, resource);
    }
    return;
  }
  if (value.is_array() && keyword.shape != Shape::schema) {
    const auto& items = value.get_ref<const Json::array_t&>();
    for (std::size_t i = 0; i < items.size(); ++i) {
      index(items[i], &node, {name, static_cast<std::int64_t>(i)}, resource);
    }
  } else if (keyword.shape != Shape::schema_list) {
    index(value, &node, {name}, resource);
  }
}

Resource* Document::identify(const Json& text, Node& node, Resource* resource) {
  const std::string* id = text.is_object() ? string_member(text, "$id") : nullptr;
  if (id != nullptr && dialect_ == Dialect::draft7 && string_member(text, "$ref") != nullptr && resource != nullptr) {
    id = nullptr;
  }
  if (id == nullptr) {
    if (resource == nullptr) resource = add_resource("", text, node);
  } else {
    std::string uri = id->size() > kMaxUri ? *id : resolve_uri(resource == nullptr ? "" : resource->uri, *id);
    const std::string fragment(split_fragment(uri).fragment);
    uri.resize(split_fragment(uri).resource.size());
    if (uri.size() > kMaxUri) {
      errors_.add(node, {"$id"}, "invalid_id", "the URI is too long");
      uri.clear();
    }
    if (resource == nullptr || uri != resource->uri) resource = add_resource(std::move(uri), text, node);
    if (!fragment.empty() && dialect_ == Dialect::draft7) add_anchor(fragment, "$id", node, *resource);
    if (!fragment.empty() && dialect_ != Dialect::draft7) {
      errors_.add(node, {"$id"}, "invalid_id", "must not have a fragment; use $anchor");
    }
  }
  if (text.is_object() && dialect_ != Dialect::draft7) {
    read_anchor(text, "$anchor", node, *resource);
    read_anchor(text, "$dynamicAnchor", node, *resource);
  }
  return resource;
}

Resource* Document::add_resource(std::string uri, const Json& text, Node& node) {
  Resource& resource = program_.resources.emplace_back();
  resource.uri = uri;
  const auto [place, added] =
      places_.try_emplace(std::move(uri), Place{.resource = &resource, .root = {.text = &text, .node = &node}});
  if (!added) errors_.add(node, {"$id"}, "duplicate_id", "'" + place->first + "' identifies another schema already");
  return &resource;
}

void Document::read_anchor(const Json& text, std::string_view keyword, Node& node, Resource& resource) {
  const auto found = text.find(keyword);
  if (found == text.end()) return;
  if (const auto* name = found->get_ptr<const std::string*>()) {
    add_anchor(*name, keyword, node, resource);
  } else {
    errors_.add(node, {std::string(keyword)}, "invalid_type", "must be a string");
  }
}

void Document::add_anchor(std::string_view name, std::string_view keyword, Node& node, Resource& resource) {
  const auto [anchor, added] = resource.anchors.try_emplace(std::string(name), &node);
  if (!added && anchor->second != &node) {
    errors_.add(node, {std::string(keyword)}, "duplicate_anchor",
                "'" + anchor->first + "' names another schema already");
  }
  if (keyword == "$dynamicAnchor") resource.dynamic_anchors.try_emplace(std::string(name), &node);
}

const Node* Document::resolve(const Node& from, std::string_view keyword, std::string_view reference) {
  const auto unresolved = [&](const std::string& why) {
    errors_.add(from, {std::string(keyword)}, "unresolved_reference",
                "cannot resolve '" + std::string(reference.substr(0, 200)) + "': " + why);
    return nullptr;
  };
  if (reference.size() > kMaxUri) return unresolved("it is too long");
  const std::string uri = resolve_uri(from.resource->uri, reference);
  const auto [resource, encoded] = split_fragment(uri);
  const auto place = places_.find(std::string(resource));
  if (place == places_.end()) {
    return unresolved("no schema in this document has that $id, and remote references are not loaded");
  }
  const std::string fragment = percent_decode(encoded);
  if (fragment.empty()) return place->second.root.node;
  if (fragment.front() != '/') {
    const auto& anchors = place->second.resource->anchors;
    const auto anchor = anchors.find(fragment);
    return anchor == anchors.end() ? unresolved("there is no such anchor") : anchor->second;
  }
  const Node* node = follow_pointer(place->second, fragment);
  return node == nullptr ? unresolved("there is no schema at that place") : node;
}

const Node* Document::follow_pointer(const Place& place, std::string_view pointer) {
  const Json* text = place.root.text;
  Node* nearest = place.root.node;
  Path steps;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    text = step_into(*text, unescape_token(pointer.substr(0, end)), steps);
    if (text == nullptr) return nullptr;
    pointer.remove_prefix(end);
    if (const auto known = nodes_.find(text); known != nodes_.end()) {
      nearest = known->second;
      steps.clear();
    }
  }
  return index(*text, nearest, std::move(steps), places_.at(nearest->resource->uri).resource);
}

const Json* Document::step_into(const Json& text, const std::string& token, Path& steps) {
  if (text.is_object()) {
    steps.emplace_back(token);
    return member(text, token);
  }
  const auto position = array_index(token);
  if (!text.is_array() || !position || *position >= text.size()) return nullptr;
  steps.emplace_back(static_cast<std::int64_t>(*position));
  return &text[*position];
}

const Json* Document::member(const Json& object, const std::string& key) {
  if (object.size() <= kLargeObject) {
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }
  const auto [entry, added] = large_objects_.try_emplace(&object);
  if (added) {
    for (const auto& [name, value] : object.get_ref<const Json::object_t&>()) entry->second.emplace(name, &value);
  }
  const auto found = entry->second.find(key);
  return found == entry->second.end() ? nullptr : found->second;
}

}  // namespace allm::schema_detail
