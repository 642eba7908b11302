// Builds a message of Chat Completions from its chunks; a whole answer is one large chunk.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/event.hpp"

#include "data/surrogates.hpp"
#include "providers/openai/fast_reader.hpp"
#include "providers/openai/openai.hpp"
#include "providers/openai/tool_slots.hpp"

namespace allm::openai_wire {

// One thread at a time.
class ChatMessage {
 public:
  ChatMessage(const std::string& provider, const OpenAiQuirks& quirks, const std::string& id_seed);

  // Whether the response's id or model has not been seen yet.
  bool lacks_head() const { return id_.empty() || model_.empty(); }
  // Must be called before the first chunk.
  void set_limits(const AnswerLimits& limits) { slots_.set_limits(limits); }
  // Adds a chunk of a common form. Returns false, without any effect, if the chunk belongs to a call that has not begun
  // or if the calls exceed a limit: add(Json) handles these cases.
  bool add(const FastChunk& chunk, std::vector<Event>& events);
  void add_reasoning(std::string_view text, std::vector<Event>& events);
  void add_text(std::string_view text, std::vector<Event>& events);
  // Adds any chunk, streamed or whole. Returns an error message if the chunk is malformed; the message ends then.
  std::optional<std::string> add(const Json& chunk, std::vector<Event>& events);

  // Whether a finish reason was received.
  bool has_finish() const { return !finish_.empty(); }
  const std::string& finish() const { return finish_; }
  // Completes the calls and returns the message, or an error message if a call has no name or the calls exceed a limit.
  std::expected<MessageCompleted, std::string> complete(std::vector<Event>& events);

 private:
  void add_head(const Json& chunk);
  std::optional<std::string> add_delta(const Json& delta, std::vector<Event>& events);
  void add_content(const Json& content, std::vector<Event>& events);
  std::optional<std::string> add_calls(const Json& calls, std::vector<Event>& events);
  void add_reasoning_details(const Json& details);
  void append_text(std::string_view text, std::vector<Event>& events);
  void append_reasoning(std::string_view text, std::vector<Event>& events);
  Json provider_state();

  std::string provider_;
  OpenAiQuirks quirks_;
  std::string id_;
  std::string model_;
  std::string text_;
  std::string reasoning_;
  std::string refusal_;
  SurrogateJoiner text_joiner_;
  SurrogateJoiner reasoning_joiner_;
  SurrogateJoiner refusal_joiner_;
  std::string finish_;
  std::optional<Usage> usage_;
  Json reasoning_details_;
  ToolSlots slots_;
};

}  // namespace allm::openai_wire
