// Decodes arbitrary bytes as a response of Gemini. Checks that every split gives the same events, that one event ends
// the answer, and that the message can be stored and sent back.
#include "providers/gemini/gemini.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "split_decoding.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto codec = allm::gemini_codec();
  allm::AdapterCall call;
  call.request.response_format = allm::ResponseFormat::json_schema("person", {{"type", "object"}});
  allm::decode_in_two_ways(*codec, call, {reinterpret_cast<const char*>(data), size});
  return 0;
}
