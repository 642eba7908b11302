#include "schema/pattern.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <re2/re2.h>

#include "schema/ecma_regex.hpp"

namespace allm::schema_detail {

Pattern::Pattern(std::string_view source, std::unique_ptr<const re2::RE2> expression)
    : source_(source),
      expression_(std::move(expression)),
      instructions_(static_cast<std::size_t>(expression_->ProgramSize())) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

std::expected<Pattern, Pattern::CompileError> Pattern::compile(std::string_view source, std::size_t max_memory) {
  const auto translated = ecma_to_re2(source);
  if (!translated) return std::unexpected(CompileError{.message = translated.error()});
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(static_cast<std::int64_t>(
      std::min<std::size_t>(max_memory, static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()))));
  auto expression = std::make_unique<const re2::RE2>(re2::StringPiece(*translated), options);
  if (!expression->ok()) {
    return std::unexpected(CompileError{.message = expression->error(),
                                        .out_of_memory = expression->error_code() == re2::RE2::ErrorPatternTooLarge});
  }
  return Pattern(source, std::move(expression));
}

bool Pattern::matches(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *expression_);
}

}  // namespace allm::schema_detail
