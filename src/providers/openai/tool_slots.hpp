// Builds the tool calls of a message from fragments. Servers differ in how they mark the call that a fragment belongs
// to; these rules handle all of them.
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

namespace allm::openai_wire {

// A piece of a call. Absent members are empty.
struct CallFragment {
  std::optional<std::int64_t> index = std::nullopt;
  std::string_view id = {};
  std::string_view name = {};
  std::string_view arguments = {};
  Json extra = null_json();  // `extra_content`, which some servers need in the next request
};

// Finds out by counting brackets whether a text that comes in pieces is a complete object. Reads each byte only once,
// so that a check after every fragment stays cheap.
class ObjectScan {
 public:
  void add(std::string_view text);
  bool is_whole() const { return state_ == State::whole; }

 private:
  enum class State : std::uint8_t { before, inside, string, escape, whole, none };
  State step(char c);

  State state_ = State::before;
  std::size_t depth_ = 0;
};

// One thread at a time.
class ToolSlots {
 public:
  // Ids of calls that came without one are made from `id_seed`. `provider` is the key for a call's metadata.
  ToolSlots(std::string id_seed, std::string provider, bool short_ids);

  // Must be called before the first fragment.
  void set_limits(const AnswerLimits& limits) { meter_.set_limits(limits); }
  // Adds a fragment; false if the calls exceed a limit.
  bool add(const CallFragment& fragment, std::vector<Event>& events);
  // Adds arguments to a call that has begun; false if no call has that index, or if the calls exceed a limit.
  bool extend(std::int64_t index, std::string_view arguments, std::vector<Event>& events);
  // The calls, in the order of their first fragments; produces a ToolCallCompleted for each. An error message if a call
  // has no name, or if the calls exceed a limit.
  std::expected<std::vector<ToolCall>, std::string> complete(std::vector<Event>& events);
  // The limit that the calls exceed; "" if none.
  std::string error() const { return meter_.error(); }

  bool empty() const { return slots_.empty(); }

 private:
  struct Slot {
    std::optional<std::int64_t> index = std::nullopt;
    std::string wire_id = {};  // as the server sent it; "" if it did not
    std::string id = {};       // as events show it
    std::string name = {};
    std::string arguments = {};
    SurrogateJoiner joiner = {};  // of the arguments
    ObjectScan scan = {};         // of the arguments
    std::size_t shown = 0;        // bytes of the arguments that were sent as events
    bool started = false;
    Json extra = null_json();
  };

  Slot* find(const CallFragment& fragment);
  Slot* find_index(std::int64_t index);
  Slot* begin(const CallFragment& fragment);
  std::string unique_id(std::string_view wire_id);
  static void append(Slot& slot, std::string_view arguments);
  void show(Slot& slot, std::vector<Event>& events);

  std::string id_seed_;
  std::string provider_;
  bool short_ids_;
  std::vector<Slot> slots_;
  // The last slot with each index and with each id that the server sent.
  std::unordered_map<std::int64_t, std::size_t> by_index_;
  std::unordered_map<std::string, std::size_t> by_wire_id_;
  UniqueCallIds ids_;
  CallMeter meter_;
};

}  // namespace allm::openai_wire
