// One answer as it comes in, part by part, from a stream or a whole body. Gives the events of the parts and, at the
// end, the message. One thread at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/event.hpp"

namespace allm {

class GeminiAnswer {
 public:
  // `call_id_prefix` begins the ids of calls to which the provider gave none.
  explicit GeminiAnswer(std::string call_id_prefix);

  // One response object that is no error.
  void take(const Json& response, std::vector<Event>& events);
  // What the common chunk of a stream consists of, without a value having been made of it.
  void start(std::vector<Event>& events);
  void add_text(std::string_view text, std::vector<Event>& events);
  void note_finish(std::string_view reason);
  void note_origin(std::string_view id, std::string_view model);
  void note_usage_text(std::string_view json);

  bool has_candidate() const { return has_candidate_; }
  bool has_finish() const { return !finish_.empty(); }
  // Whether the prompt was refused, so that there is no answer.
  bool is_blocked() const { return !block_reason_.empty() && !has_finish(); }
  // The message; nothing if the counts that came with it cannot be read.
  std::optional<MessageCompleted> complete();
  // The message of a prompt that was refused.
  MessageCompleted complete_blocked(bool with_usage);

 private:
  struct Part {
    Json value = nullptr;   // as the wire has it; null for a text that is not signed
    std::string text = {};  // of the answer
  };

  void take_candidate(const Json& candidate, std::vector<Event>& events);
  void take_part(const Json& part, std::vector<Event>& events);
  void take_call(const Json& part, const Json& function, std::vector<Event>& events);
  bool settle_usage();
  Json parts() const;

  std::string call_id_prefix_;
  bool started_ = false;
  bool has_candidate_ = false;
  std::vector<Part> parts_;
  std::string finish_;
  std::string block_reason_;
  std::string usage_text_;
  Json usage_ = nullptr;
  MessageCompleted message_;
};

}  // namespace allm
