// Builds one answer from its content blocks, which come from a stream or a whole body. Produces the events of the
// blocks and, at the end, the message. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allm/event.hpp"

#include "data/call_meter.hpp"
#include "data/surrogates.hpp"
#include "providers/call_ids.hpp"

namespace allm {

class AnthropicAnswer {
 public:
  enum class Delta : std::uint8_t { text, input_json, thinking, signature };

  // `answer_tool` names the tool whose call is the structured answer, "" if there is none.
  AnthropicAnswer(std::string answer_tool, std::optional<std::string> provider_request_id);

  // Must be called before the first block.
  void set_limits(const AnswerLimits& limits) { meter_.set_limits(limits); }
  // Reads id, model and token counts from {"id", "model", "usage"}.
  void start(const Json& message, std::vector<Event>& events);
  // The next four return an error message if they are called in the wrong order or exceed a limit, else "".
  std::string start_block(std::int64_t index, const Json& block, std::vector<Event>& events);
  std::string append(std::int64_t index, Delta kind, std::string_view text, std::vector<Event>& events);
  std::string add_citation(std::int64_t index, const Json& citation);
  std::string stop_block(std::int64_t index, std::vector<Event>& events);
  // Reads {"stop_reason", "stop_sequence", …} and the token counts, which may be null.
  void note_end(const Json& end, const Json* counts);

  bool started() const { return started_; }
  bool has_stop_reason() const { return !stop_reason_.empty(); }
  // Produces a TextCompleted for the text of finished blocks, if there was none since.
  void complete_text(std::vector<Event>& events);
  // Ends the blocks that are still open and returns the whole message, or an error message if it exceeds a limit.
  std::expected<MessageCompleted, std::string> complete(std::vector<Event>& events);

 private:
  enum class Kind : std::uint8_t { text, call, answer, thinking, other };
  struct Block {
    std::int64_t index = 0;
    Kind kind = Kind::other;
    bool open = true;
    Json start = nullptr;         // the block as the provider sent its start
    std::string body = {};        // its text, thinking or JSON so far
    SurrogateJoiner joiner = {};  // of the body
    std::string signature = {};
    ToolCall call = {};
  };

  Block* find_open(std::int64_t index);
  Block& open(std::int64_t index, Kind kind, Json start);
  std::string start_call(Block& added, const Json& block, std::vector<Event>& events);
  static void append_body(Block& block, std::string_view text, std::vector<Event>& events);
  void stop(Block& block, std::vector<Event>& events);
  std::string text() const;
  Json content_blocks() const;

  std::string answer_tool_;
  bool started_ = false;
  bool text_pending_ = false;
  std::size_t repeated_ = 0;  // total bytes of all TextCompleted events
  std::vector<Block> blocks_;
  std::unordered_map<std::int64_t, std::size_t> open_;  // the open blocks, by their indexes
  bool answered_by_tool_ = false;
  UniqueCallIds ids_;
  CallMeter meter_;
  Json counts_ = Json::object();
  std::string stop_reason_;
  MessageCompleted message_;
};

}  // namespace allm
