// JSON Schema: compile a schema once, check values against it many times.
//
// The dialects are draft 2020-12 and draft-07, as far as one document can carry them: `$ref`, `$dynamicRef`, `$id` and
// anchors resolve inside the schema document, and nothing is ever loaded from elsewhere. `format`, `content*`,
// `default` and descriptions are annotations and assert nothing; unknown keywords are ignored. Patterns are ECMA-262
// regular expressions matched in linear time, hence without lookaround and backreferences.
//
// Messages are written so that a model can correct its own call: "days: must be integer, got string".
//
//   auto schema = allm::Schema::compile(document);
//   if (!schema) return std::unexpected(schema.error());
//   for (const auto& error : schema->validate(arguments)) tell_model(error.message);
//
// A hostile schema or instance gives an error and never endangers the process: nesting, work and the memory of patterns
// are limited, see SchemaOptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "allm/error.hpp"
#include "allm/json.hpp"

namespace allm {

// One rule of the schema that an instance breaks.
struct SchemaError {
  // The value at fault. For a missing or an unexpected property, the object that lacks or holds it.
  Path instance_path;
  // The rule that was broken, as a JSON pointer into the schema document: "/properties/days/type". It names the place
  // where the rule is written, so a rule reached through `$ref` is found under `$defs`.
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
    draft2020_12,  // with `definitions` and `dependencies` still understood
  };
  Dialect dialect = Dialect::auto_detect;
  // Nesting, of the schema document and of schemas applied while validating: a level of the instance costs one, a
  // `$ref` or an `allOf` on the way one more. Both recurse; the default needs up to 300 KiB of stack.
  std::size_t max_depth = 512;
  // Work for one validation, about one step for each schema applied and each item, member or eight bytes looked at.
  // The default is reached after some tenths of a second and admits instances of millions of values.
  std::size_t max_steps = 10'000'000;
  // Errors that `validate` reports before it stops looking; zero counts as one.
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
  // Fails with ValidationError `invalid_schema` when a keyword's value is malformed, a pattern cannot be compiled, a
  // reference cannot be resolved within the document, the dialect is not supported, or schemas refer to each other in a
  // circle that no instance could leave. The error holds the path and reason of every error found, up to 16; its
  // message says what is wrong with the first and where.
  static Result<Schema> compile(const Json& document, const SchemaOptions& options = {});

  // Everything that is wrong with the instance, up to `max_errors`; empty when it is valid. A valid instance of
  // ordinary size costs no allocation, save for `propertyNames`. An instance that exceeds `max_depth` or `max_steps` is
  // not valid; the last error says so.
  std::vector<SchemaError> validate(const Json& instance) const;

  // Whether `validate` would return nothing; stops at the first error and writes no messages.
  bool accepts(const Json& instance) const;

 private:
  class Program;
  explicit Schema(std::shared_ptr<const Program> program);

  std::shared_ptr<const Program> program_;
};

}  // namespace allm
