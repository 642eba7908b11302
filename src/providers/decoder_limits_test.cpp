// Decoders keep to the limits that they are given, for every provider and both forms of an answer.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "providers/anthropic/anthropic.hpp"
#include "providers/codec.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/openai/openai.hpp"

namespace allm::decoder_limits_test {
namespace {

const HttpResponseHead kStream{200, {{"content-type", "text/event-stream"}}};
const HttpResponseHead kWhole{200, {{"content-type", "application/json"}}};

struct Provider {
  const char* name;
  std::shared_ptr<const Codec> codec;
  const char* model;
};

std::vector<Provider> providers() {
  return {{"chat", openai_codec({}), "gpt-4.1"},
          {"responses", openai_codec({}), "gpt-5"},
          {"anthropic", anthropic_codec({}), "claude-haiku-4-5"},
          {"gemini", gemini_codec({}), "gemini-2.5-flash"}};
}

// Whether a body of `size` bytes is refused because of its size. The body is not a valid answer, so there is always
// some error.
bool is_too_large(const Provider& provider, const HttpResponseHead& head, std::size_t size,
                  const DecoderLimits& limits) {
  AdapterCall call;
  call.model = provider.model;
  call.request.messages = {user("hi")};
  const std::unique_ptr<BodyDecoder> decoder = provider.codec->decoder(call, head);
  decoder->set_limits(limits);
  std::vector<Event> events;
  std::string body = &head == &kStream ? ": a comment\n" : "{\"padding\":1";
  body.resize(size, &head == &kStream ? ':' : ' ');
  for (std::size_t at = 0; at < size; at += 100) decoder->feed(std::string_view(body).substr(at, 100), events);
  decoder->finish(events);
  EXPECT_TRUE(decoder->done());
  if (events.empty() || events.back().tag() != EventTag::error) {
    ADD_FAILURE() << provider.name << ": no error";
    return false;
  }
  const std::string message = events.back().get_if<ErrorEvent>()->error.message();
  return message.find(std::to_string(limits.max_body_bytes) + " bytes of max_body_bytes") != std::string::npos;
}

TEST(DecoderLimits, ABodyMayHaveUpToMaxBodyBytes) {
  for (const Provider& provider : providers()) {
    for (const HttpResponseHead* head : {&kStream, &kWhole}) {
      SCOPED_TRACE(std::string(provider.name) + (head == &kStream ? ", stream" : ", whole body"));
      EXPECT_TRUE(is_too_large(provider, *head, 2'001, {.max_body_bytes = 2'000}));
      EXPECT_FALSE(is_too_large(provider, *head, 2'000, {.max_body_bytes = 2'000}));
      EXPECT_FALSE(is_too_large(provider, *head, 2'001, {.max_body_bytes = 4'000}));
    }
  }
}

}  // namespace
}  // namespace allm::decoder_limits_test
