// Builds an answer of the Responses endpoint from its events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allm/adapter.hpp"
#include "allm/event.hpp"

#include "data/call_meter.hpp"
#include "data/surrogates.hpp"
#include "providers/call_ids.hpp"
#include "providers/openai/openai.hpp"

namespace allm::openai_wire {

// One thread at a time.
class ResponsesMessage {
 public:
  // Where a part is: the index of its item, and its index in the item.
  using PartPlace = std::pair<std::int64_t, std::int64_t>;

  ResponsesMessage(std::string provider, std::string id_seed);

  void add_text(std::string_view delta, std::vector<Event>& events);
  void add_refusal(std::string_view delta) { refusal_ += refusal_joiner_.add(delta); }
  // Begins a new part of the summary; parts are separated by an empty line.
  void begin_summary_part() { in_summary_part_ = false; }
  void add_summary(std::string_view delta, std::vector<Event>& events);
  void add_reasoning(std::string_view delta, std::vector<Event>& events);
  // Adds a piece of arguments to the call whose item has that id; false if there is no such call.
  bool add_arguments(std::string_view item_id, std::string_view delta, std::vector<Event>& events);
  // The final arguments of that call.
  void end_arguments(std::string_view item_id, const Json& event, std::vector<Event>& events);
  // A part of a message begins, and its final form {"type", "text" or "refusal"}.
  void begin_part(const Json& part);
  void end_part(PartPlace place, const Json& part);
  // Add an item that begins, or its final form.
  void begin_item(const Json& item, std::vector<Event>& events);
  void end_item(std::int64_t index, const Json& item, std::vector<Event>& events);
  // Reads id and model from a `response` object.
  void add_head(const Json& response);

  // Returns the message. `response` is the whole answer. Where it contradicts the streamed pieces, it wins, and a
  // warning says so. What it does not have is taken from the final forms of items, else of parts, else from the pieces.
  MessageCompleted complete(const Json& response, std::vector<Event>& events);
  std::vector<AdapterWarning> take_warnings() { return std::exchange(warnings_, {}); }

  // Must be called before the first event.
  void set_limits(const AnswerLimits& limits) { meter_.set_limits(limits); }
  // Whether the answer has exceeded a limit, and which. The message is not complete then.
  bool is_too_large() const { return has_too_many_items_ || meter_.is_exceeded(); }
  std::string error() const;

 private:
  struct Call {
    std::string item_id = {};
    std::string wire_id = {};  // as the server sent it
    std::string id = {};       // as events show it
    std::string name = {};
    std::string arguments = {};
    SurrogateJoiner joiner = {};  // of the arguments
    std::size_t shown = 0;        // bytes of the arguments that were sent as events
    std::size_t counted = 0;      // bytes of the arguments that the meter has counted
    bool settled = false;         // its item in the whole answer was found
  };
  // Calls with one id, in their order; settled ones are removed from the front.
  using CallQueue = std::deque<std::size_t>;
  using CallIndex = std::unordered_map<std::string, CallQueue>;

  void append_text(std::string_view delta, std::vector<Event>& events);
  void append_summary(std::string_view delta, std::vector<Event>& events);
  void append_reasoning(std::string_view delta, std::vector<Event>& events);
  void append_arguments(Call& call, std::string_view delta, std::vector<Event>& events);
  // The call with that item id that began last; null if there is none.
  Call* find_item(std::string_view item_id);
  std::optional<std::size_t> first_unsettled(CallIndex& index, std::string_view id) const;
  std::optional<std::size_t> find_call(std::string_view item_id, std::string_view call_id);
  Call* begin_call(const Json& item, std::vector<Event>& events);
  // The call of an item, which may be new; null if there are too many.
  Call* call_of(const Json& item, std::vector<Event>& events);
  void set_arguments(Call& call, const Json& item, std::vector<Event>& events);
  void settle_call(const Json& item, std::vector<Event>& events);
  void warn(const char* part, const char* what);
  // The items of the whole answer, or the streamed ones if it has none.
  Json output_of(const Json& response) const;
  void settle_text(const Json& output, std::vector<Event>& events);
  void settle_refusal(const Json& output);
  // The final text of the answer; nullopt if only its pieces are known.
  std::optional<std::string> final_text(const Json& output) const;
  // Adds the answer's reasoning to the message, and as an event if it was not streamed.
  void settle_reasoning(const Json& output, MessageCompleted& completed, std::vector<Event>& events);

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
  std::deque<Call> calls_;
  CallIndex by_item_id_;
  CallIndex by_call_id_;               // by the id that the server sent
  CallIndex without_item_by_call_id_;  // those that have no item id
  UniqueCallIds ids_;
  std::map<std::int64_t, Json> items_;  // final items, by their index
  std::size_t text_parts_ = 0;          // that began
  std::map<PartPlace, std::string> final_texts_;
  std::map<PartPlace, std::string> final_refusals_;
  CallMeter meter_;
  bool has_too_many_items_ = false;
  std::vector<AdapterWarning> warnings_;
};

}  // namespace allm::openai_wire
