// A schema document while it is being compiled: the places of its subschemas, resources and anchors, and the targets of
// its references.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schema/compile_errors.hpp"
#include "schema/keywords.hpp"
#include "schema/node.hpp"

namespace allm::schema_detail {

// Borrows all its constructor's arguments. One thread at a time.
class Document {
 public:
  // A subschema's text, an object or a boolean, and the node that it becomes.
  struct Source {
    const Json* text = nullptr;
    Node* node = nullptr;
  };

  // Makes a node in `program` for every subschema that stands in the place of one. The document's depth must have been
  // checked.
  Document(const Json& root, Dialect dialect, Program& program, CompileErrors& errors);

  // Grows when a reference points to a value that is a schema only because of that reference.
  const std::vector<Source>& sources() const { return sources_; }

  // The node of a value in this document, or null if it is not known to be a schema.
  const Node* node_of(const Json& text) const;

  // The target of `reference`, the value of `keyword` in `from`. Null, with an error added, if it has no target.
  const Node* resolve(const Node& from, std::string_view keyword, std::string_view reference);

 private:
  struct Place {
    Resource* resource = nullptr;
    Source root;
  };
  using Members = std::unordered_map<std::string_view, const Json*>;

  Node* index(const Json& text, const Node* parent, Path steps, Resource* resource);
  void index_below(const KeywordInfo& keyword, const Json& value, const Node& node, Resource* resource);
  Resource* identify(const Json& text, Node& node, Resource* resource);
  Resource* add_resource(std::string uri, const Json& text, Node& node);
  void read_anchor(const Json& text, std::string_view keyword, Node& node, Resource& resource);
  void add_anchor(std::string_view name, std::string_view keyword, Node& node, Resource& resource);
  const Node* follow_pointer(const Place& place, std::string_view pointer);
  const Json* step_into(const Json& text, const std::string& token, Path& steps);
  const Json* member(const Json& object, const std::string& key);

  Dialect dialect_;
  Program& program_;
  CompileErrors& errors_;
  std::vector<Source> sources_;
  std::unordered_map<const Json*, Node*> nodes_;
  std::unordered_map<std::string, Place> places_;  // by URI
  std::unordered_map<const Json*, Members> large_objects_;
};

}  // namespace allm::schema_detail
