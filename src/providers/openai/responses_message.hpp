// Builds an answer of the Responses endpoint from its events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/event.hpp"

#include "data/surrogates.hpp"
#include "providers/openai/openai.hpp"

namespace allm::openai_wire {

// One thread at a time.
class ResponsesMessage {
 public:
  ResponsesMessage(std::string provider, std::string id_seed);

  void add_text(std::string_view delta, std::vector<Event>& events);
  void add_refusal(std::string_view delta) { refusal_ += refusal_joiner_.add(delta); }
  // Begins a new part of the summary; parts are separated by an empty line.
  void begin_summary_part() { in_summary_part_ = false; }
  void add_summary(std::string_view delta, std::vector<Event>& events);
  void add_reasoning(std::string_view delta, std::vector<Event>& events);
  // Adds a piece of arguments to the call whose item has that id; false if there is no such call.
  bool add_arguments(std::string_view item_id, std::string_view delta, std::vector<Event>& events);
  // Add an item that begins, or its final form. Return false if there are too many items.
  bool begin_item(const Json& item, std::vector<Event>& events);
  bool end_item(std::int64_t index, const Json& item, std::vector<Event>& events);
  // Reads id and model from a `response` object.
  void add_head(const Json& response);

  // Returns the message. `response` is the whole answer; where it differs from the streamed parts, it takes precedence.
  MessageCompleted complete(const Json& response, std::vector<Event>& events);

 private:
  struct Call {
    std::string item_id = {};
    std::string wire_id = {};  // as the server sent it
    std::string id = {};       // as events show it
    std::string name = {};
    std::string arguments = {};
    SurrogateJoiner joiner = {};  // of the arguments
    std::size_t shown = 0;        // bytes of the arguments that were sent as events
    bool settled = false;         // its item in the whole answer was found
  };

  void append_text(std::string_view delta, std::vector<Event>& events);
  void append_summary(std::string_view delta, std::vector<Event>& events);
  void append_reasoning(std::string_view delta, std::vector<Event>& events);
  static void append_arguments(Call& call, std::string_view delta, std::vector<Event>& events);
  Call& call_of(const Json& item, std::vector<Event>& events);
  void set_arguments(Call& call, const Json& item, std::vector<Event>& events);
  // The items of the whole answer, or the streamed ones if it has none.
  Json output_of(const Json& response) const;
  void settle_text(const Json& output, std::vector<Event>& events);
  // Adds the answer's reasoning to the message, and as an event if it was not streamed.
  void settle_reasoning(const Json& output, MessageCompleted& completed, std::vector<Event>& events) const;

  std::string provider_;
  std::string id_seed_;
  std::string id_;
  std::string model_;
  std::string text_;
  std::string refusal_;
  std::string summary_;
  bool in_summary_part_ = false;
  std::string reasoning_;
  SurrogateJoiner text_joiner_;
  SurrogateJoiner refusal_joiner_;
  SurrogateJoiner summary_joiner_;
  SurrogateJoiner reasoning_joiner_;
  std::vector<Call> calls_;
  std::map<std::int64_t, Json> items_;  // final items, by their index
};

}  // namespace allm::openai_wire
