// What a schema document compiles to: a graph of nodes, one for each subschema.
//
// Nodes are made and filled by the compiler and constant afterwards. They refer to each other by plain pointers; the
// Program owns them all, in a flat container, so that neither cycles nor depth matter when it is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allm/error.hpp"
#include "allm/schema.hpp"

#include "schema/equality.hpp"
#include "schema/key_table.hpp"
#include "schema/number.hpp"
#include "schema/pattern.hpp"

namespace allm::schema_detail {

// The types of an instance, as bits of a TypeSet. `number` stands for the numbers that are not integers.
enum class Type : std::uint8_t { null = 1, boolean = 2, integer = 4, number = 8, string = 16, array = 32, object = 64 };
using TypeSet = std::uint8_t;
inline constexpr TypeSet kAnyType = 127;

inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

struct NumberRules {
  std::optional<Number> minimum;
  std::optional<Number> maximum;
  std::optional<Number> exclusive_minimum;
  std::optional<Number> exclusive_maximum;
  std::optional<Number> multiple_of;
};

struct StringRules {
  std::size_t min_length = 0;
  std::size_t max_length = kNoLimit;
  std::shared_ptr<const Pattern> pattern;  // shared by all rules with the same source
};

struct ArrayRules {
  std::vector<const Node*> prefix;  // `prefixItems`, or `items` of draft-07 in its array form
  const Node* rest = nullptr;       // `items`, or `additionalItems`
  const Node* contains = nullptr;
  std::size_t min_contains = 1;
  std::size_t max_contains = kNoLimit;
  std::size_t min_items = 0;
  std::size_t max_items = kNoLimit;
  bool unique = false;
};

// Rules about `keys.watched_name(trigger)` being present.
struct Dependency {
  std::uint32_t trigger = 0;
  std::vector<std::uint32_t> required;
  const Node* schema = nullptr;
  std::string_view keyword;
};

struct ObjectRules {
  struct PatternRule {
    std::shared_ptr<const Pattern> pattern;
    const Node* schema = nullptr;
  };

  KeyTable keys;
  std::vector<PatternRule> patterns;
  const Node* additional = nullptr;
  const Node* names = nullptr;
  std::vector<std::uint32_t> required;
  std::vector<Dependency> dependencies;
  std::size_t min_properties = 0;
  std::size_t max_properties = kNoLimit;
};

// A `$dynamicRef` whose target has a `$dynamicAnchor` of the same name, which an outer resource may override.
struct DynamicRef {
  const Node* initial = nullptr;
  std::string anchor;
};

// Keywords that apply schemas to the instance itself.
struct Applicators {
  const Node* ref = nullptr;         // `$ref`
  const Node* static_ref = nullptr;  // a `$dynamicRef` that nothing can override
  std::optional<DynamicRef> dynamic_ref;
  std::vector<const Node*> all_of;
  std::vector<const Node*> any_of;
  std::vector<const Node*> one_of;
  const Node* negated = nullptr;
  const Node* condition = nullptr;
  const Node* consequence = nullptr;
  const Node* alternative = nullptr;
};

// A part of the document with an identity of its own: the root, and every subschema with an `$id`.
struct Resource {
  std::string uri;
  std::unordered_map<std::string, const Node*> anchors;  // of both kinds
  std::unordered_map<std::string, const Node*> dynamic_anchors;
};

struct Node {
  enum class Kind : std::uint8_t { rules, accepts_all, rejects_all };

  // Where the subschema is written: the node that contains it and the steps from there. Null and empty for the root.
  const Node* parent = nullptr;
  Path steps;
  const Resource* resource = nullptr;

  Kind kind = Kind::rules;
  TypeSet types = kAnyType;
  std::unique_ptr<ValueSet> enumeration;
  std::unique_ptr<ValueSet> constant;
  std::unique_ptr<NumberRules> number;
  std::unique_ptr<StringRules> string;
  std::unique_ptr<ArrayRules> array;
  std::unique_ptr<ObjectRules> object;
  std::unique_ptr<Applicators> applicators;
  const Node* unevaluated_items = nullptr;
  const Node* unevaluated_properties = nullptr;
};

// The path of a node in the document, and the same as a JSON pointer.
Path path_of(const Node& node);
std::string pointer_of(const Node& node);
// Appends "/step", escaped.
void append_pointer(std::string& pointer, const PathStep& step);

struct Program {
  SchemaOptions options;
  std::deque<Node> nodes;  // the first is the root
  std::deque<Resource> resources;
  bool has_dynamic_refs = false;
};

}  // namespace allm::schema_detail
