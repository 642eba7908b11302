// Builds one answer from its parts, which come from a stream or a whole body. Produces the events of the parts and, at
// the end, the message. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/event.hpp"

#include "data/call_meter.hpp"
#include "data/surrogates.hpp"
#include "providers/call_ids.hpp"

namespace allm {

class GeminiAnswer {
 public:
  // `call_id_prefix` is the prefix of ids for calls that the provider sends without one.
  explicit GeminiAnswer(std::string call_id_prefix);

  // Adds one response object that is not an error.
  void take(const Json& response, std::vector<Event>& events);
  // Add the members of a stream's most common chunk, which is read without a JSON value.
  void start(std::vector<Event>& events);
  void add_text(std::string_view text, std::vector<Event>& events);
  void note_finish(std::string_view reason);
  void note_origin(std::string_view id, std::string_view model);
  void note_usage_text(std::string_view json);

  // Must be called before the first response.
  void set_limits(const AnswerLimits& limits) { meter_.set_limits(limits); }
  // Whether the answer has exceeded a limit, and which. It must not be completed then.
  bool is_too_large() const { return has_too_many_parts_ || meter_.is_exceeded(); }
  std::string error() const;

  bool has_candidate() const { return has_candidate_; }
  bool has_finish() const { return !finish_.empty(); }
  // Whether the prompt was blocked, so that there is no answer.
  bool is_blocked() const { return !block_reason_.empty() && !has_finish(); }
  // The message; nullopt if its token counts are malformed.
  std::optional<MessageCompleted> complete(std::vector<Event>& events);
  // The message for a prompt that was blocked.
  MessageCompleted complete_blocked(bool with_usage, std::vector<Event>& events);

 private:
  enum class Kind : std::uint8_t { text, thought, other };
  struct Part {
    Kind kind = Kind::other;
    Json value = nullptr;   // as the provider sent it; null for a text or thought without a signature
    std::string text = {};  // the text that the part adds to the answer or to its thoughts
  };

  void take_candidate(const Json& candidate, std::vector<Event>& events);
  void take_part(const Json& part, std::vector<Event>& events);
  // Adds a text that has no signature.
  void add_piece(Kind kind, std::string_view text, std::vector<Event>& events);
  void append(Kind kind, std::string_view text, std::vector<Event>& events);
  // Adds a part, unless there are too many.
  void keep(Part part);
  SurrogateJoiner& joiner(Kind kind) { return kind == Kind::thought ? thought_joiner_ : text_joiner_; }
  std::string joined(Kind kind) const;
  void take_call(const Json& part, const Json& function, std::vector<Event>& events);
  bool settle_usage();
  Json parts() const;

  std::string call_id_prefix_;
  bool started_ = false;
  bool has_candidate_ = false;
  std::vector<Part> parts_;
  bool has_too_many_parts_ = false;
  UniqueCallIds ids_;
  CallMeter meter_;
  SurrogateJoiner text_joiner_;
  SurrogateJoiner thought_joiner_;
  std::string finish_;
  std::string block_reason_;
  std::string usage_text_;
  Json usage_ = nullptr;
  MessageCompleted message_;
};

}  // namespace allm
