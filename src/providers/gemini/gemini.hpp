// Google's Gemini API.
//
// State that allm::Message has no field for is kept in its metadata under "gemini": the parts of an answer with their
// thought signatures and the provider's own call ids, which the next request sends back unchanged. A call's signature
// is also in its metadata as "thoughtSignature". Members of `metadata.gemini` of a tool are added to its declaration.
//
// Settings, in snake_case or camelCase, are sent in `generationConfig`, except for those that the API has outside of it
// (safetySettings, cachedContent, toolConfig, labels; `tools` are added to the declared ones). `stop`, `max_tokens` and
// `reasoning_effort` are translated.
#pragma once

#include <memory>
#include <string>

#include "providers/codec.hpp"

namespace allm {

struct GeminiCodecOptions {
  // Change it for a gateway or proxy that speaks the same protocol.
  std::string base_url = "https://generativelanguage.googleapis.com/v1beta";
  // Send schemas unchanged (`parametersJsonSchema`, `responseJsonSchema`) instead of in the API's own dialect. Needed
  // for recursive schemas. Off by default, because not every model accepts them.
  bool json_schemas = false;
  // Let the provider fetch images from https URLs (`fileData`). Off by default, because only newer models support it,
  // and because it makes the provider's servers send requests to other hosts.
  bool fetch_image_urls = false;
  // Mark calls that have no thought signature, for example because another provider made them, so that the model does
  // not refuse them. Off by default, because the mark lowers the quality of reasoning; Gemini 3 and later models always
  // get it, because they refuse such calls otherwise.
  bool excuse_missing_signatures = false;
};

std::shared_ptr<const Codec> gemini_codec(GeminiCodecOptions options = {});

inline constexpr std::string_view kGemini = "gemini";

}  // namespace allm
