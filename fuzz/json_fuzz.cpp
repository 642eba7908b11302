// Reads arbitrary bytes as JSON. Checks that a value that can be read can be written, and reads back equal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <variant>

#include "allm/serialize.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

template <class T>
void check(const T& value) {
  const allm::Result<std::string> text = allm::to_json(value);
  require(text.has_value());
  const allm::Result<T> again = allm::from_json<T>(*text, {.max_depth = 1000});
  require(again.has_value());
  require(*again == value);
  const allm::Result<T> from_value = allm::from_json_value<T>(allm::to_json_value(value));
  require(from_value.has_value());
  require(*from_value == value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  if (const allm::Result<allm::Json> value = allm::parse_json(text)) {
    const allm::Result<std::string> written = allm::write_json(*value);
    require(written.has_value());
    const allm::Result<allm::Json> again = allm::parse_json(*written);
    require(again.has_value());
    require(*again == *value);
    require(allm::json_equal(*again, *value));
  } else {
    require(allm::to_json(value.error()).has_value());
  }

  if (const allm::Result<allm::Session> session = allm::from_json<allm::Session>(text)) check(*session);

  const allm::Result<allm::AnyValue> any = allm::any_from_json(text);
  if (any.has_value()) {
    std::visit(
        [](const auto& value) {
          if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(value)>, allm::Json>) check(value);
        },
        *any);
  } else {
    require(allm::to_json(any.error()).has_value());
  }
  return 0;
}
