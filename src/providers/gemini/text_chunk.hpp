// Reads the most common chunk of a stream in place, without a JSON value. Safe to call from any thread.
#pragma once

#include <optional>
#include <string_view>

namespace allm {

// The views are valid until the data changes or the function is called again on this thread. Absent members are empty.
struct GeminiTextChunk {
  std::string_view text = {};
  std::string_view finish_reason = {};
  std::string_view usage = {};  // a JSON object
  std::string_view model = {};
  std::string_view id = {};
};

// A response with one candidate that has one part of plain text; nullopt for everything else. At least kSsePadding
// readable bytes must follow the data.
std::optional<GeminiTextChunk> read_gemini_text(std::string_view data);

}  // namespace allm
