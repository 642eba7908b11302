// Turns a schema document into a Program.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schema/compile_errors.hpp"
#include "schema/document.hpp"
#include "schema/node.hpp"

namespace allm::schema_detail {

Result<void> compile_program(const Json& document, const SchemaOptions& options, Program& program);

// Fills the nodes of a document. Borrows its arguments; used once.
class Compiler {
 public:
  Compiler(Document& document, Dialect dialect, Program& program, CompileErrors& errors);

  void run();

 private:
  // One keyword of one node: what the handlers of keywords work on.
  struct Entry {
    Node& node;
    const Json& text;  // the whole subschema
    const KeywordInfo& info;
    const Json& value;
  };

  void compile_node(Node& node, const Json& text);
  void compile_keyword(const Entry& entry);

  // References and keywords that apply schemas.
  void compile_ref(const Entry& entry);
  void compile_dynamic_ref(const Entry& entry);
  void compile_properties(const Entry& entry);
  void compile_pattern_properties(const Entry& entry);
  void compile_dependencies(const Entry& entry);
  void compile_items(const Entry& entry);
  const Node* subschema(const Entry& entry);
  std::vector<const Node*> subschemas(const Entry& entry);

  // Keywords that assert something about a value by themselves.
  void compile_type(const Entry& entry);
  void compile_enumeration(const Entry& entry);
  void compile_schema_uri(const Entry& entry);
  std::optional<Number> number(const Entry& entry);
  std::optional<Number> positive_number(const Entry& entry);
  std::size_t count(const Entry& entry);
  bool boolean(const Entry& entry);
  std::shared_ptr<const Pattern> pattern(const Entry& entry, const std::string& source, const Path& below);
  const std::string* string(const Entry& entry);
  const Json::object_t* object(const Entry& entry);
  std::vector<std::uint32_t> watched_names(const Entry& entry, const Json& list, const Path& below);

  void wrong(const Entry& entry, std::string_view reason, const std::string& message, const Path& below = {});
  void wrong_type(const Entry& entry, std::string_view expected, const Json& value, const Path& below = {});

  Document& document_;
  Dialect dialect_;
  Program& program_;
  CompileErrors& errors_;
  std::unordered_map<std::string, std::shared_ptr<const Pattern>> patterns_;  // by source
  std::size_t pattern_memory_ = 0;
};

// The rules behind a pointer, made on first use.
template <class Rules>
Rules& made(std::unique_ptr<Rules>& rules) {
  if (!rules) rules = std::make_unique<Rules>();
  return *rules;
}

// The dialect that `$schema` names; nullopt if it is not supported.
std::optional<Dialect> dialect_of(std::string_view schema_uri);

}  // namespace allm::schema_detail
