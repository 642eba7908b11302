#include "schema/compiler.hpp"

#include <algorithm>
#include <utility>

#include "schema/loops.hpp"

namespace allm::schema_detail {
namespace {

bool has_rules(const Node& node) {
  return node.types != kAnyType || node.enumeration || node.constant || node.number || node.string || node.array ||
         node.object || node.applicators || node.unevaluated_items != nullptr || node.unevaluated_properties != nullptr;
}

void report_loop(const std::vector<const Node*>& loop, CompileErrors& errors) {
  constexpr std::size_t kShown = 8;
  std::string circle;
  for (std::size_t i = 0; i < std::min(loop.size(), kShown); ++i) circle += "#" + pointer_of(*loop[i]) + " -> ";
  if (loop.size() > kShown) circle += "... -> ";
  errors.add(*loop.front(), {}, "reference_loop",
             "applies itself to the same value without end: " + circle + "#" + pointer_of(*loop.front()));
}

}  // namespace

std::optional<Dialect> dialect_of(std::string_view schema_uri) {
  if (schema_uri.ends_with('#')) schema_uri.remove_suffix(1);
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!schema_uri.starts_with(scheme)) continue;
    const std::string_view rest = schema_uri.substr(scheme.size());
    if (rest == "json-schema.org/draft/2020-12/schema") return Dialect::draft2020_12;
    if (rest == "json-schema.org/draft-07/schema" || rest == "json-schema.org/draft-06/schema") return Dialect::draft7;
  }
  return std::nullopt;
}

Result<void> compile_program(const Json& document, const SchemaOptions& options, Program& program) {
  program.options = options;
  CompileErrors errors;
  const auto failed = [&](const Path& path, std::string_view reason, const std::string& message) {
    errors.add(Node{}, path, reason, message);
    return std::unexpected(errors.to_error());
  };
  if (!document.is_object() && !document.is_boolean()) {
    return failed({}, "invalid_type", std::string("must be an object or a boolean, got ") + document.type_name());
  }
  // From here on recursion over the document is safe.
  std::size_t cost = 0;
  if (deeper_than(document, options.max_depth, cost)) {
    return failed({}, "too_deep", "nested deeper than " + std::to_string(options.max_depth) + " levels");
  }
  Dialect dialect = options.dialect;
  if (dialect == Dialect::auto_detect) {
    dialect = Dialect::draft2020_12;
    if (const auto uri = document.find("$schema"); uri != document.end() && uri->is_string()) {
      const auto named = dialect_of(uri->get_ref<const std::string&>());
      if (!named) {
        return failed(
            {"$schema"}, "unsupported_dialect",
            "'" + uri->get_ref<const std::string&>().substr(0, 200) +
                "' is neither draft 2020-12 nor draft-07; set SchemaOptions::dialect to read it as one of them");
      }
      dialect = *named;
    }
  }
  Document source(document, dialect, program, errors);
  Compiler(source, dialect, program, errors).run();
  if (!errors.empty()) return std::unexpected(errors.to_error());
  if (const auto loop = find_loop(program); !loop.empty()) {
    report_loop(loop, errors);
    return std::unexpected(errors.to_error());
  }
  return {};
}

Compiler::Compiler(Document& document, Dialect dialect, Program& program, CompileErrors& errors)
    : document_(document), dialect_(dialect), program_(program), errors_(errors) {}

void Compiler::run() {
  for (std::size_t i = 0; i < document_.sources().size(); ++i) {
    const Document::Source source = document_.sources()[i];
    compile_node(*source.node, *source.text);
  }
}

void Compiler::compile_node(Node& node, const Json& text) {
  if (const auto* boolean = text.get_ptr<const bool*>()) {
    node.kind = *boolean ? Node::Kind::accepts_all : Node::Kind::rejects_all;
    return;
  }
  const auto ref = text.find("$ref");
  const bool only_ref = dialect_ == Dialect::draft7 && ref != text.end() && ref->is_string();
  for (const auto& [name, value] : text.get_ref<const Json::object_t&>()) {
    const KeywordInfo* info = find_keyword(name, dialect_);
    if (info == nullptr || (only_ref && info->keyword != Keyword::ref)) continue;
    compile_keyword({.node = node, .text = text, .info = *info, .value = value});
  }
  if (node.applicators && node.applicators->condition == nullptr) {
    node.applicators->consequence = nullptr;
    node.applicators->alternative = nullptr;
  }
  if (!has_rules(node)) node.kind = Node::Kind::accepts_all;
}

void Compiler::compile_keyword(const Entry& entry) {
  Node& node = entry.node;
  switch (entry.info.keyword) {
    case Keyword::anchor:
    case Keyword::dynamic_anchor:
    case Keyword::definitions:
      return;  // the document has indexed them
    case Keyword::id:
      string(entry);
      return;
    case Keyword::schema:
      return compile_schema_uri(entry);
    case Keyword::ref:
      return compile_ref(entry);
    case Keyword::dynamic_ref:
      return compile_dynamic_ref(entry);
    case Keyword::all_of:
      made(node.applicators).all_of = subschemas(entry);
      return;
    case Keyword::any_of:
      made(node.applicators).any_of = subschemas(entry);
      return;
    case Keyword::one_of:
      made(node.applicators).one_of = subschemas(entry);
      return;
    case Keyword::negation:
      made(node.applicators).negated = subschema(entry);
      return;
    case Keyword::condition:
      made(node.applicators).condition = subschema(entry);
      return;
    case Keyword::consequence:
      made(node.applicators).consequence = subschema(entry);
      return;
    case Keyword::alternative:
      made(node.applicators).alternative = subschema(entry);
      return;
    case Keyword::type:
      return compile_type(entry);
    case Keyword::enumeration:
      return compile_enumeration(entry);
    case Keyword::constant:
      node.constant = std::make_unique<ValueSet>(std::vector<Json>{entry.value});
      return;
    case Keyword::minimum:
      made(node.number).minimum = number(entry);
      return;
    case Keyword::maximum:
      made(node.number).maximum = number(entry);
      return;
    case Keyword::exclusive_minimum:
      made(node.number).exclusive_minimum = number(entry);
      return;
    case Keyword::exclusive_maximum:
      made(node.number).exclusive_maximum = number(entry);
      return;
    case Keyword::multiple_of:
      made(node.number).multiple_of = positive_number(entry);
      return;
    case Keyword::min_length:
      made(node.string).min_length = count(entry);
      return;
    case Keyword::max_length:
      made(node.string).max_length = count(entry);
      return;
    case Keyword::pattern:
      if (const std::string* source = string(entry)) made(node.string).pattern = pattern(entry, *source, {});
      return;
    case Keyword::items:
    case Keyword::additional_items:
      return compile_items(entry);
    case Keyword::prefix_items:
      made(node.array).prefix = subschemas(entry);
      return;
    case Keyword::contains:
      made(node.array).contains = subschema(entry);
      return;
    case Keyword::min_contains:
      made(node.array).min_contains = count(entry);
      return;
    case Keyword::max_contains:
      made(node.array).max_contains = count(entry);
      return;
    case Keyword::min_items:
      made(node.array).min_items = count(entry);
      return;
    case Keyword::max_items:
      made(node.array).max_items = count(entry);
      return;
    case Keyword::unique_items:
      made(node.array).unique = boolean(entry);
      return;
    case Keyword::unevaluated_items:
      node.unevaluated_items = subschema(entry);
      return;
    case Keyword::properties:
      return compile_properties(entry);
    case Keyword::pattern_properties:
      return compile_pattern_properties(entry);
    case Keyword::additional_properties:
      made(node.object).additional = subschema(entry);
      return;
    case Keyword::property_names:
      made(node.object).names = subschema(entry);
      return;
    case Keyword::required:
      made(node.object).required = watched_names(entry, entry.value, {});
      return;
    case Keyword::dependencies:
    case Keyword::dependent_required:
    case Keyword::dependent_schemas:
      return compile_dependencies(entry);
    case Keyword::min_properties:
      made(node.object).min_properties = count(entry);
      return;
    case Keyword::max_properties:
      made(node.object).max_properties = count(entry);
      return;
    case Keyword::unevaluated_properties:
      node.unevaluated_properties = subschema(entry);
      return;
  }
}

}  // namespace allm::schema_detail
