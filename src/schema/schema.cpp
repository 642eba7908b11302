#include "allm/schema.hpp"

#include <utility>

#include "schema/compiler.hpp"
#include "schema/evaluator.hpp"

namespace allm {

class Schema::Program : public schema_detail::Program {};

// A null program accepts everything: what `true` and `{}` compile to.
Schema::Schema() = default;
Schema::Schema(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

Result<Schema> Schema::compile(const Json& document, const SchemaOptions& options) {
  if (document == true || (document.is_object() && document.empty())) return Schema();
  auto program = std::make_shared<Program>();
  if (auto compiled = schema_detail::compile_program(document, options, *program); !compiled) {
    return std::unexpected(std::move(compiled).error());
  }
  return Schema(std::move(program));
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
