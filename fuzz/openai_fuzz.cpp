// Decodes arbitrary bytes as a response of OpenAI's endpoints. Checks that only the last event is terminal, and that
// the events do not depend on how the bytes are split. The first byte selects endpoint, content type and options, the
// second the sizes of the pieces.
#include "providers/openai/openai.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "allm/serialize.hpp"

#include "providers/openai/presets.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

std::vector<allm::Event> decoded(const allm::Codec& codec, const allm::AdapterCall& call,
                                 const allm::HttpResponseHead& head, std::string_view body, std::size_t piece) {
  const std::unique_ptr<allm::BodyDecoder> decoder = codec.decoder(call, head);
  std::vector<allm::Event> events;
  while (!body.empty()) {
    const std::size_t size = std::min(body.size(), piece);
    // A separate allocation, so that a sanitizer finds reads past its end.
    decoder->feed(std::string(body.substr(0, size)), events);
    body.remove_prefix(size);
    piece = piece % 61 + 1;
  }
  decoder->finish(events);
  require(decoder->done());
  return events;
}

bool is_terminal(const allm::Event& event) {
  return event.tag() == allm::EventTag::message_completed || event.tag() == allm::EventTag::error;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  static const auto openai = allm::openai_codec();
  static const auto mistral = allm::openai_codec(allm::options_of(*allm::find_openai_preset("mistral")));
  const allm::Codec& codec = (data[0] & 8U) != 0 ? *mistral : *openai;
  allm::AdapterCall call;
  call.model = "m";
  call.options["endpoint"] = (data[0] & 1U) != 0 ? "responses" : "chat";
  call.include_raw_chunks = (data[0] & 4U) != 0;
  const allm::HttpResponseHead head{200,
                                    {{"content-type", (data[0] & 2U) != 0 ? "application/json" : "text/event-stream"}}};

  const std::vector<allm::Event> whole = decoded(codec, call, head, body, size);
  require(!whole.empty() && is_terminal(whole.back()));
  require(std::count_if(whole.begin(), whole.end(), is_terminal) == 1);
  require(whole == decoded(codec, call, head, body, data[1] % 61U + 1U));
  if (const auto* completed = whole.back().get_if<allm::MessageCompleted>()) {
    require(allm::to_json(completed->message).has_value());
    allm::AdapterCall next = call;
    next.request.messages = {completed->message};
    require(codec.write(next).has_value());
  } else {
    require(allm::to_json(whole.back().get_if<allm::ErrorEvent>()->error).has_value());
  }
  const allm::Error error = codec.error({.status = 400 + data[1]}, body);
  require(allm::to_json(error).has_value());
  return 0;
}
