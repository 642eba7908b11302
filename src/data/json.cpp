#include "allm/json.hpp"

#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/json_text.hpp"
#include "data/reader.hpp"
#include "data/text_sink.hpp"

namespace allm {

namespace {

// Exact, unlike a comparison of both as doubles.
template <class Integer>
bool equal_numbers(Integer integer, double real) {
  constexpr double kEnd = std::is_signed_v<Integer> ? 0x1p63 : 0x1p64;
  constexpr double kBegin = std::is_signed_v<Integer> ? -0x1p63 : 0.0;
  return real >= kBegin && real < kEnd && std::trunc(real) == real && static_cast<Integer>(real) == integer;
}

bool equal_numbers(const Json& a, const Json& b) {
  if (b.is_number_float() && !a.is_number_float()) return equal_numbers(b, a);
  if (a.is_number_float()) {
    const double real = a.get<double>();
    if (b.is_number_float()) return real == b.get<double>();
    if (b.is_number_unsigned()) return equal_numbers(b.get<std::uint64_t>(), real);
    return equal_numbers(b.get<std::int64_t>(), real);
  }
  if (a.is_number_unsigned() == b.is_number_unsigned()) return a == b;
  const std::int64_t with_sign = a.is_number_unsigned() ? b.get<std::int64_t>() : a.get<std::int64_t>();
  const std::uint64_t without = a.is_number_unsigned() ? a.get<std::uint64_t>() : b.get<std::uint64_t>();
  return std::cmp_equal(with_sign, without);
}

using Pairs = std::vector<std::pair<const Json*, const Json*>>;

// Whether the keys are the same; the values that must then be equal are added to `open`.
bool match_members(const Json::object_t& a, const Json::object_t& b, Pairs& open) {
  if (a.size() != b.size()) return false;
  std::unordered_map<std::string_view, const Json*> others;
  auto beside = b.begin();  // as long as the order is the same
  for (const auto& [key, value] : a) {
    if (others.empty() && beside->first == key) {
      open.emplace_back(&value, &beside->second);
      ++beside;
      continue;
    }
    if (others.empty()) {
      for (auto rest = beside; rest != b.end(); ++rest) others.emplace(rest->first, &rest->second);
    }
    const auto found = others.find(key);
    if (found == others.end()) return false;
    open.emplace_back(&value, found->second);
  }
  return true;
}

bool match(const Json& a, const Json& b, Pairs& open) {
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.type() != b.type()) return false;
  if (const auto* members = a.get_ptr<const Json::object_t*>()) {
    return match_members(*members, *b.get_ptr<const Json::object_t*>(), open);
  }
  if (const auto* elements = a.get_ptr<const Json::array_t*>()) {
    const auto& others = *b.get_ptr<const Json::array_t*>();
    if (elements->size() != others.size()) return false;
    for (std::size_t i = 0; i < others.size(); ++i) open.emplace_back(&(*elements)[i], &others[i]);
    return true;
  }
  return a == b;
}

}  // namespace

Json empty_object() { return Json::object(); }
Json null_json() { return nullptr; }

Result<Json> parse_json(std::string_view text, const ReadLimits& limits) {
  std::size_t any = codec::kAnyNumber;
  return codec::parse_counted(text, limits, any);
}

Result<Json> codec::parse_counted(std::string_view text, const ReadLimits& limits, std::size_t& values_left) {
  const ReadLimits kept = effective(limits);
  Reader reader(kept, values_left);
  Document document(text, kept, reader.values_left(), reader.failure());
  Result<Json> result;
  if (document.form() == Document::Form::value) {
    result = std::move(document.value());
  } else if (document.form() == Document::Form::broken || !reader.json(document.root(), *result)) {
    result = std::unexpected(reader.failure().error());
  }
  values_left = reader.values_left();
  return result;
}

Result<std::string> write_json(const Json& value) {
  codec::Failure failure;
  codec::TextSink sink(failure);
  if (!sink.json(value)) return std::unexpected(failure.error());
  sink.finish();
  return sink.take();
}

bool json_equal(const Json& a, const Json& b) {
  // A list of what is still to be compared instead of recursion: values may nest without bound.
  Pairs open = {{&a, &b}};
  while (!open.empty()) {
    const auto [left, right] = open.back();
    open.pop_back();
    if (!match(*left, *right, open)) return false;
  }
  return true;
}

}  // namespace allm
