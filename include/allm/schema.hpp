// JSON Schema: compile a schema once, check values against it many times.
//
// The dialects are draft 2020-12 and draft-07. A schema is one document: `$ref`, `$dynamicRef`, `$id` and anchors refer
// to places in this document, and nothing is ever loaded from elsewhere. `format`, `content*`, `default` and
// descriptions are not checked; unknown keywords are ignored. Patterns are ECMA-262 regular expressions without
// lookaround and backreferences, so that they match in linear time.
//
// Messages are written so that a model can correct its own call: "days: must be integer, got string".
//
//   auto schema = allm::Schema::compile(document);
//   if (!schema) return std::unexpected(schema.error());
//   for (const auto& error : schema->validate(arguments)) tell_model(error.message);
//
// A hostile schema or instance causes an error and cannot exhaust the stack, the time or the memory of the process,
// because nesting, work and the memory of patterns are limited; see SchemaOptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "allm/error.hpp"
#include "allm/json.hpp"

namespace allm {

// One rule of the schema that an instance (a checked JSON value) breaks.
struct SchemaError {
  // The path of the value that breaks the rule. If a property is missing or not allowed: the path of its object.
  Path instance_path;
  // The rule that was broken, as a JSON pointer into the schema document: "/properties/days/type". The pointer names
  // the place where the rule is written. For a rule behind a `$ref`, that place is usually under `$defs`.
  std::string schema_path;
  // The rule's keyword, e.g. "type". Empty when a limit of SchemaOptions ended the validation, or the schema is
  // `false`.
  std::string keyword;
  // One line of English that starts with the path unless that is empty: "guest.name: must be string, got integer".
  std::string message;

  bool operator==(const SchemaError&) const = default;
};

struct SchemaOptions {
  enum class Dialect : std::uint8_t {
    auto_detect,   // the dialect that the document's `$schema` names; without one, draft 2020-12
    draft7,        // also reads draft-06
    draft2020_12,  // also accepts the older keywords `definitions` and `dependencies`
  };
  Dialect dialect = Dialect::auto_detect;
  // The maximum nesting of the schema document, and of the schemas that are applied during a validation: each level of
  // the instance counts as one, and each `$ref` or `allOf` on the way as one more. Compilation and validation are
  // recursive; with the default they need up to 300 KiB of stack.
  std::size_t max_depth = 512;
  // The maximum work of one validation: about one step for each schema that is applied, and for each item, member or
  // eight bytes of text that are read. The default takes some tenths of a second and is enough for millions of values.
  std::size_t max_steps = 10'000'000;
  // The number of errors after which `validate` stops; zero counts as one.
  std::size_t max_errors = 16;
  // Bytes that the compiled patterns of a schema may use together. Matching a pattern may use as many bytes again.
  std::size_t max_pattern_memory = 8U << 20U;
};

// A compiled schema. Immutable, cheap to copy, safe to use from any thread. A default-constructed schema accepts
// everything.
class Schema {
 public:
  Schema();

  // Compiles a document: an object or a boolean. The document may be discarded afterwards.
  // Fails with ValidationError `invalid_schema` if a keyword's value is malformed, a pattern cannot be compiled, a
  // reference cannot be resolved within the document, the dialect is not supported, or schemas refer to each other in a
  // circle that applies a schema to the same value again without end. `ValidationError::errors` has the path and the
  // reason of up to 16 errors; the message describes the first.
  static Result<Schema> compile(const Json& document, const SchemaOptions& options = {});

  // Returns up to `max_errors` rules that the instance breaks; empty if the instance is valid. A valid instance of
  // ordinary size costs no allocation, except for the keyword `propertyNames`. An instance that exceeds `max_depth` or
  // `max_steps` is not valid; the last error says so.
  std::vector<SchemaError> validate(const Json& instance) const;

  // Whether `validate` would return an empty list. Faster, because it stops at the first error and writes no messages.
  bool accepts(const Json& instance) const;

 private:
  class Program;
  explicit Schema(std::shared_ptr<const Program> program);

  std::shared_ptr<const Program> program_;
};

}  // namespace allm
