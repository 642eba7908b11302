// All providers and presets as targets of a conversation that moves between them: the real codecs, answers in their
// formats, and the rules for their requests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "allm/engine.hpp"

#include "providers/codec.hpp"
#include "tests/validators/model_answers.hpp"
#include "tests/validators/request_rules.hpp"

namespace allm::testing {

struct MoveTarget {
  std::string name;
  std::string model;
  std::shared_ptr<const Codec> codec;
  std::function<Problems(const Json& body)> problems;
  std::string (*answer)(const Answer& answer);
  // The id of a tool call as this server's models write it, from a number.
  std::function<std::string(std::uint64_t number)> call_id;
  bool signs = false;  // whether its reasoning has state for the next request
};

// OpenAI Chat and Responses, Anthropic, Gemini 2.5 and 3, every preset, models of Anthropic and Mistral behind other
// servers, and a gateway without a preset.
std::vector<MoveTarget> move_targets();

// The rules that a request to the target breaks: those of the target, and that reasoning state goes back only to the
// provider that made it. State of `provider` is text that contains signature_of(provider).
Problems problems_of(const MoveTarget& target, const std::string& body);
std::string signature_of(std::string_view provider);

// An adapter that writes each request, gives it to `sent`, and decodes the bytes of the answer that `answer` returns.
// Runs on the consumer's thread.
std::shared_ptr<Adapter> codec_adapter(std::shared_ptr<const Codec> codec, std::function<void(const HttpRequest&)> sent,
                                       std::function<std::string(const AdapterCall&)> answer);

}  // namespace allm::testing
