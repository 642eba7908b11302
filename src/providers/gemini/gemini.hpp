// Google's Gemini API.
//
// What a neutral message cannot say is kept in its metadata under "gemini": the parts of an answer with their thought
// signatures and the provider's own ids of calls, which the next request sends back as they were. A call's signature is
// also in its metadata as "thoughtSignature". Members of `metadata.gemini` of a tool are added to its declaration.
//
// Settings are sent in `generationConfig`, in snake_case or camelCase, but for those that the API has beside it
// (safetySettings, cachedContent, toolConfig, labels; `tools` are added to the declared ones). `stop`, `max_tokens` and
// `reasoning_effort` are translated.
#pragma once

#include <memory>
#include <string>

#include "providers/codec.hpp"

namespace allm {

struct GeminiCodecOptions {
  // A gateway or proxy that speaks the same protocol has another one.
  std::string base_url = "https://generativelanguage.googleapis.com/v1beta";
  // Send schemas as they are (`parametersJsonSchema`, `responseJsonSchema`) instead of in the API's own dialect. Off
  // because not every model takes them; on, recursive schemas can be sent.
  bool json_schemas = false;
  // Let the provider fetch images from https URLs (`fileData`). Off because only newer models do, and because it tells
  // the provider's servers to call others.
  bool fetch_image_urls = false;
  // Mark calls of a history that has no thought signatures, one from another provider say, so that Gemini 3 does not
  // refuse them. Off because the mark is a workaround that costs quality of thought.
  bool excuse_missing_signatures = false;
};

std::shared_ptr<const Codec> gemini_codec(GeminiCodecOptions options = {});

inline constexpr std::string_view kGemini = "gemini";

}  // namespace allm
