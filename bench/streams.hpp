// Streamed answers of plain text in the providers' formats, with every field that they document.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace allm::bench {

struct Stream {
  std::string bytes = {};
  std::size_t chunks = 0;      // with text
  std::size_t text_bytes = 0;  // of all chunks together
};

Stream chat_stream(std::size_t chunks);
Stream responses_stream(std::size_t chunks);
Stream anthropic_stream(std::size_t chunks);
Stream gemini_stream(std::size_t chunks);

// One chunk of Chat Completions. Both parameters are JSON texts.
std::string chat_chunk(std::string_view delta, std::string_view finish_reason = "null");

}  // namespace allm::bench
