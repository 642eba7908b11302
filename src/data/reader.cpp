#include "data/reader.hpp"

#include <fmt/format.h>

namespace allm::codec {

std::string_view describe(NodeKind kind) {
  switch (kind) {
    case NodeKind::null:
      return "null";
    case NodeKind::boolean:
      return "a boolean";
    case NodeKind::integer:
    case NodeKind::natural:
      return "an integer";
    case NodeKind::real:
      return "a number with a fraction or beyond 64 bits";
    case NodeKind::string:
      return "a string";
    case NodeKind::array:
      return "an array";
    case NodeKind::object:
      return "an object";
    case NodeKind::other:
      break;
  }
  return "binary data";
}

bool KeySet::insert_into_many(std::string_view key) {
  if (many_ == nullptr) {
    many_ = std::make_unique<std::unordered_set<std::string_view>>();
    for (const Key& each : few_) many_->emplace(each.data, each.size);
  }
  return many_->insert(key).second;
}

bool Reader::fail_duplicate(std::string_view key) {
  fail("duplicate_key", "the member occurs twice in its object; remove one of them");
  return failure_.at(key);
}

bool Reader::fail_type(std::string_view expected, NodeKind found) {
  return fail("invalid_type", fmt::format("expected {}, not {}", expected, describe(found)));
}

bool Reader::fail_string(std::size_t bytes) {
  return fail("too_large", fmt::format("a text of {} bytes exceeds the limit of {} (ReadLimits::max_string_bytes)",
                                       bytes, limits_.max_string_bytes));
}

bool Reader::fail_items() {
  return fail("too_large", fmt::format("more than {} elements or members (ReadLimits::max_items)", limits_.max_items));
}

bool Reader::fail_depth() {
  return fail("too_deep",
              fmt::format("more than {} levels of arrays and objects (ReadLimits::max_depth)", limits_.max_depth));
}

bool Reader::fail_values() { return fail("too_large", "there are more values than the limit allows"); }

template <class Node>
bool Reader::json(Node node, Json& out) {
  if (values_left_ == 0) return fail_values();
  --values_left_;
  switch (node.kind()) {
    case NodeKind::null:
      out = nullptr;
      return true;
    case NodeKind::boolean:
      out = node.boolean();
      return true;
    case NodeKind::integer: {
      const std::int64_t value = node.integer();
      if (value < 0) {
        out = value;
      } else {
        out = static_cast<std::uint64_t>(value);
      }
      return true;
    }
    case NodeKind::natural:
      out = node.natural();
      return true;
    case NodeKind::real:
      out = node.real();
      return true;
    case NodeKind::string: {
      const std::string_view text = node.string();
      if (!check_string(text)) return false;
      out = std::string(text);
      return true;
    }
    case NodeKind::array:
      return array(node, out);
    case NodeKind::object:
      return object(node, out);
    case NodeKind::other:
      break;
  }
  return fail("invalid_type", "binary data has no form in JSON");
}

template <class Node>
bool Reader::array(Node node, Json& out) {
  const Level level(*this);
  if (!level.check()) return false;
  out = Json::array();
  auto& elements = *out.get_ptr<Json::array_t*>();
  const std::size_t size = node.size();
  if (!check_items(size)) return false;
  elements.reserve(size);
  return node.each_element([&](Node element) {
    const std::size_t index = elements.size();
    return check_items(index + 1) && (json(element, elements.emplace_back(nullptr)) || failure_.at(index));
  });
}

template <class Node>
bool Reader::object(Node node, Json& out) {
  const Level level(*this);
  if (!level.check()) return false;
  if (!out.is_object() || !out.empty()) out = Json::object();
  auto& members = *out.get_ptr<Json::object_t*>();
  const std::size_t size = node.size();
  if (size == 0) return true;
  if (!check_items(size)) return false;
  members.reserve(size);  // growing would copy: keys of an object_t are const
  KeySet keys;
  return node.each_member([&](std::string_view key, Node element) {
    if (!check_items(members.size() + 1)) return false;
    if (!keys.insert(key)) return fail_duplicate(key);
    return add_member(key, element, members);
  });
}

template bool Reader::json(TextNode, Json&);
template bool Reader::json(ValueNode, Json&);

}  // namespace allm::codec
