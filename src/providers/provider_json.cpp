#include "providers/provider_json.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "data/json_text.hpp"
#include "data/surrogates.hpp"

namespace allm {
namespace {

bool is_duplicate_key(const Error& error) {
  const auto* validation = error.get_if<ValidationError>();
  return validation != nullptr && !validation->errors.empty() && validation->errors.front().reason == "duplicate_key";
}

std::optional<Json> parse_valid(std::string_view text) {
  // The caller has limited the size of the text.
  const std::size_t size = std::max<std::size_t>(text.size(), 1);
  const ReadLimits limits = {.max_bytes = size, .max_string_bytes = size};
  std::size_t values_left = kMaxProviderValues;
  Result<Json> value = codec::parse_counted(text, limits, values_left);
  if (value) return *std::move(value);
  // A repeated key is the only error that the strict reader found.
  if (!is_duplicate_key(value.error())) return std::nullopt;
  codec::Failure failure;
  Json lenient;
  values_left = kMaxProviderValues;
  if (!codec::read_slowly(text, limits, codec::RepeatedKeys::last_wins, values_left, failure, lenient)) {
    return std::nullopt;
  }
  return lenient;
}

std::size_t count_strings(const Json& value) {
  if (value.is_string()) return 1;
  if (!value.is_structured()) return 0;
  std::size_t count = value.is_object() ? value.size() : 0;
  for (const Json& element : value) count += count_strings(element);
  return count;
}

// Puts the halves back into the pieces, in the form that a SurrogateJoiner reads.
class HalfWriter {
 public:
  HalfWriter(const std::vector<SplitHalf>& halves, PiecePaths pieces) : halves_(halves), pieces_(pieces) {}

  void visit(Json& value) {
    if (value.is_string()) return visit_text(value.get_ref<std::string&>());
    if (value.is_array()) {
      for (Json& element : value) visit(element);
    }
    if (!value.is_object()) return;
    const std::size_t parent = path_.size();
    for (auto& [key, member] : value.items()) {
      ++index_;
      path_ += (parent == 0 ? "" : ".") + key;
      visit(member);
      path_.resize(parent);
    }
  }

 private:
  void visit_text(std::string& text) {
    // Both orders are those of the text, so halves of earlier strings, keys included, are not looked at again.
    for (; next_ < halves_.size() && halves_[next_].string <= index_; ++next_) {
      const SplitHalf& half = halves_[next_];
      if (half.string != index_ || std::ranges::find(pieces_, path_) == pieces_.end()) continue;
      // U+FFFD has as many bytes as a half.
      text.replace(half.is_low() ? 0 : text.size() - kHalfBytes, kHalfBytes, half_bytes(half.half));
    }
    ++index_;
  }

  const std::vector<SplitHalf>& halves_;
  PiecePaths pieces_;
  std::size_t index_ = 0;  // of the next string
  std::size_t next_ = 0;   // the next half
  std::string path_;
};

}  // namespace

std::string_view too_many_values(std::string_view text) {
  // A value takes at least two bytes with what separates it from the next.
  return text.size() / 2 < kMaxProviderValues ? "" : ", or it has more than 1000000 values";
}

std::optional<Json> parse_provider_json(std::string_view text) {
  if (std::optional<Json> value = parse_valid(text)) return value;
  const std::optional<MendedJson> mended = mend_surrogates(text);
  return mended ? parse_valid(mended->text) : std::nullopt;
}

std::optional<Json> parse_event_json(std::string_view text, PiecePaths pieces) {
  if (std::optional<Json> value = parse_valid(text)) return value;
  const std::optional<MendedJson> mended = mend_surrogates(text);
  if (!mended) return std::nullopt;
  std::optional<Json> value = parse_valid(mended->text);
  // The counts differ if a key was repeated; the halves are lone then.
  if (value && count_strings(*value) == mended->strings) HalfWriter(mended->halves, pieces).visit(*value);
  return value;
}

Json without_halves(Json value) {
  if (value.is_string()) {
    auto& text = value.get_ref<std::string&>();
    if (begins_with_low_half(text) || ends_with_high_half(text)) text = without_halves(std::string_view(text));
  } else if (value.is_structured()) {
    for (Json& element : value) element = without_halves(std::move(element));
  }
  return value;
}

const Json* find_member(const Json& value, std::string_view key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() || found->is_null() ? nullptr : &*found;
}

std::string_view text_member(const Json& value, std::string_view key) {
  const Json* member = find_member(value, key);
  return member != nullptr && member->is_string() ? std::string_view(member->get_ref<const std::string&>())
                                                  : std::string_view();
}

std::optional<std::int64_t> integer_member(const Json& value, std::string_view key) {
  const Json* member = find_member(value, key);
  if (member == nullptr) return std::nullopt;
  if (member->is_number_unsigned()) {
    const auto number = member->get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (member->is_number_integer()) return member->get<std::int64_t>();
  if (!member->is_number_float()) return std::nullopt;
  const double number = member->get<double>();
  constexpr double kExact = 9007199254740992.0;
  if (!(std::abs(number) <= kExact) || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

ToolCall tool_call_from_text(std::string id, std::string name, std::string raw_arguments, CallMeter& meter) {
  ToolCall call{.id = std::move(id), .name = std::move(name)};
  if (raw_arguments.size() <= meter.limits().max_argument_bytes) {
    // Strict, unlike the rest of a response: a tool must not run with ambiguous arguments.
    Result<Json> value = meter.parse(raw_arguments);
    if (const auto mended = value ? std::nullopt : mend_surrogates(raw_arguments)) {
      value = meter.parse(mended->text);
      if (value) raw_arguments = mended->text;
    }
    if (value && value->is_object()) call.arguments = *std::move(value);
  }
  call.raw_arguments = std::move(raw_arguments);
  return call;
}

TokenCount count_member(const Json& counts, std::string_view key) {
  const TokenCount value = integer_member(counts, key);
  return value && *value >= 0 ? value : std::nullopt;
}

TokenCount sum_of_counts(TokenCount a, TokenCount b) {
  if (!a || !b) return a ? a : b;
  return *a > std::numeric_limits<std::int64_t>::max() - *b ? a : TokenCount(*a + *b);
}

}  // namespace allm
