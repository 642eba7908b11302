// The estimate of a request's tokens is never below the number of its bytes.
#include <cstdint>

#include <gtest/gtest.h>

#include "engine/worst_case.hpp"
#include "tests/generators.hpp"

namespace allm::worst_case_property_test {
namespace {

// Bytes of all text that a tokenizer can see; media are counted by other rules.
std::int64_t bytes_of_text(const Request& request) {
  std::size_t bytes = 0;
  for (const Message& message : request.messages) {
    bytes += message.text().size();
    for (const ToolCall& call : message.tool_calls) {
      bytes += call.name.size() + (call.raw_arguments ? call.raw_arguments->size() : 0);
    }
  }
  for (const Tool& tool : request.tools)
    bytes += tool.name.size() + tool.description.size() + tool.schema.dump().size();
  return static_cast<std::int64_t>(bytes);
}

RC_GTEST_PROP(WorstCaseProperty, IsNeverBelowTheBytesOfTheText, (const gen::Source& source)) {
  const Request request = gen::Random(source).request();
  const WorstCase worst = worst_case(AdapterCall{.request = request}, nullptr);
  if (worst.input_tokens) RC_ASSERT(*worst.input_tokens >= bytes_of_text(request));
}

}  // namespace
}  // namespace allm::worst_case_property_test
