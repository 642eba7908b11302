// Compiles the first part of the input as a schema and checks the second part against it. The parts are separated by
// the first zero byte; without one, the whole input is both.
#include "allm/schema.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const allm::Json& document, const allm::Json& instance, allm::SchemaOptions::Dialect dialect) {
  const auto schema = allm::Schema::compile(
      document, {.dialect = dialect, .max_depth = 128, .max_steps = 100'000, .max_pattern_memory = 1U << 16U});
  if (!schema) {
    require(!schema.error().message().empty());
    return;
  }
  const auto errors = schema->validate(instance);
  require(errors.empty() == schema->accepts(instance));
  for (const allm::SchemaError& error : errors) require(!error.message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t split = std::min(input.find('\0'), size);
  const std::string_view schema_text = input.substr(0, split);
  const std::string_view instance_text = split == size ? input : input.substr(split + 1);
  const auto document = allm::Json::parse(schema_text, nullptr, false);
  const auto instance = allm::Json::parse(instance_text, nullptr, false);
  if (document.is_discarded() || instance.is_discarded()) return 0;
  check(document, instance, allm::SchemaOptions::Dialect::draft2020_12);
  check(document, instance, allm::SchemaOptions::Dialect::draft7);
  return 0;
}
