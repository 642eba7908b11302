// Workload (g): decodes streamed answers from bytes to events. The baseline is plain simdjson, which only finds the
// text.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>
#include <simdjson.h>

#include "bench/streams.hpp"
#include "providers/anthropic/anthropic.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/openai/openai.hpp"

namespace allm::bench {
namespace {

constexpr std::size_t kChunks = 50'000;
constexpr std::size_t kPiece = 16U << 10U;  // the size of curl's reads

void decode(benchmark::State& state, const Codec& codec, const Stream& stream) {
  const AdapterCall call{.request = {.stream = true}};
  const HttpResponseHead head{.status = 200, .headers = {{"content-type", "text/event-stream"}}};
  std::vector<Event> events;
  for (auto _ : state) {
    const std::unique_ptr<BodyDecoder> decoder = codec.decoder(call, head);
    std::size_t chunks = 0;
    std::size_t text_bytes = 0;
    const auto take = [&] {
      for (const Event& event : events) {
        if (const auto* text = event.get_if<TextDelta>()) {
          ++chunks;
          text_bytes += text->delta.size();
        }
      }
      events.clear();
    };
    for (std::size_t at = 0; at < stream.bytes.size(); at += kPiece) {
      decoder->feed(std::string_view(stream.bytes).substr(at, kPiece), events);
      take();
    }
    decoder->finish(events);
    const bool completed = decoder->done() && (events.empty() || events.back().get_if<ErrorEvent>() == nullptr);
    if (!completed || chunks != stream.chunks || text_bytes != stream.text_bytes) {
      state.SkipWithError("wrong result");
      break;
    }
    events.clear();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(stream.bytes.size()));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(stream.chunks));
}

// `find` returns the text of a chunk.
template <class Find>
void plain_simdjson(benchmark::State& state, const Stream& stream, Find find) {
  constexpr std::string_view kData = "data: ";
  simdjson::ondemand::parser parser;
  std::vector<char> buffer(kPiece + simdjson::SIMDJSON_PADDING);
  for (auto _ : state) {
    std::size_t chunks = 0;
    std::size_t text_bytes = 0;
    std::string_view rest = stream.bytes;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (!line.starts_with(kData)) continue;
      const std::string_view json = line.substr(kData.size());
      std::memcpy(buffer.data(), json.data(), json.size());
      simdjson::ondemand::document document;
      if (parser.iterate(buffer.data(), json.size(), buffer.size()).get(document) != simdjson::SUCCESS) continue;
      std::string_view text;
      if (find(document).get(text) != simdjson::SUCCESS || text.empty()) continue;
      ++chunks;
      text_bytes += text.size();
    }
    if (chunks != stream.chunks || text_bytes != stream.text_bytes) {
      state.SkipWithError("wrong result");
      break;
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(stream.bytes.size()));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(stream.chunks));
}

using Document = simdjson::ondemand::document;

void g_chat(benchmark::State& state) { decode(state, *openai_codec(), chat_stream(kChunks)); }
BENCHMARK(g_chat)->Unit(benchmark::kMillisecond);
void g_chat_simdjson(benchmark::State& state) {
  plain_simdjson(state, chat_stream(kChunks),
                 [](Document& chunk) { return chunk["choices"].at(0)["delta"]["content"].get_string(); });
}
BENCHMARK(g_chat_simdjson)->Unit(benchmark::kMillisecond);

void g_responses(benchmark::State& state) {
  const auto codec = openai_codec({.endpoint = OpenAiCodecOptions::Endpoint::responses});
  decode(state, *codec, responses_stream(kChunks));
}
BENCHMARK(g_responses)->Unit(benchmark::kMillisecond);
void g_responses_simdjson(benchmark::State& state) {
  plain_simdjson(state, responses_stream(kChunks), [](Document& chunk) { return chunk["delta"].get_string(); });
}
BENCHMARK(g_responses_simdjson)->Unit(benchmark::kMillisecond);

void g_anthropic(benchmark::State& state) { decode(state, *anthropic_codec(), anthropic_stream(kChunks)); }
BENCHMARK(g_anthropic)->Unit(benchmark::kMillisecond);
void g_anthropic_simdjson(benchmark::State& state) {
  plain_simdjson(state, anthropic_stream(kChunks), [](Document& chunk) { return chunk["delta"]["text"].get_string(); });
}
BENCHMARK(g_anthropic_simdjson)->Unit(benchmark::kMillisecond);

void g_gemini(benchmark::State& state) { decode(state, *gemini_codec(), gemini_stream(kChunks)); }
BENCHMARK(g_gemini)->Unit(benchmark::kMillisecond);
void g_gemini_simdjson(benchmark::State& state) {
  plain_simdjson(state, gemini_stream(kChunks), [](Document& chunk) {
    return chunk["candidates"].at(0)["content"]["parts"].at(0)["text"].get_string();
  });
}
BENCHMARK(g_gemini_simdjson)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace allm::bench
