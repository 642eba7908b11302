#include "allm/schema.hpp"

#include <utility>

#include "schema/compiler.hpp"
#include "schema/evaluator.hpp"

namespace allm {

// A null program accepts everything: what `true` and `{}` compile to.
Schema::Schema() = default;
Schema::Schema(std::shared_ptr<const schema_detail::Program> program) : program_(std::move(program)) {}

Result<Schema> Schema::compile(const Json& document, const SchemaOptions& options) {
  if (document == true || (document.is_object() && document.empty())) return Schema();
  auto program = schema_detail::compile_program(document, options);
  if (!program) return std::unexpected(std::move(program).error());
  return Schema(*std::move(program));
}

bool Schema::accepts(const Json& instance) const {
  return program_ == nullptr || schema_detail::Evaluator(*program_, nullptr).run(instance);
}

std::vector<SchemaError> Schema::validate(const Json& instance) const {
  std::vector<SchemaError> errors;
  if (program_ == nullptr) return errors;
  schema_detail::Evaluator check(*program_, nullptr);
  if (check.run(instance)) return errors;
  if (check.exhausted()) {
    errors.push_back(*check.exhausted());
  } else {
    schema_detail::Evaluator describe(*program_, &errors);
    describe.run(instance);
    if (describe.exhausted()) errors.push_back(*describe.exhausted());
  }
  schema_detail::finish_messages(errors);
  return errors;
}

}  // namespace allm
