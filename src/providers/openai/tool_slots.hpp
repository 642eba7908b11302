// The tool calls of a message, put together from fragments. Servers differ in how they tell whose fragment one is; the
// rules here take them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/event.hpp"

namespace allm::openai_wire {

// A piece of a call. What is absent is empty.
struct CallFragment {
  std::optional<std::int64_t> index = std::nullopt;
  std::string_view id = {};
  std::string_view name = {};
  std::string_view arguments = {};
  Json extra = null_json();  // `extra_content`, which some servers want back
};

// Whether a text that comes in pieces is a whole object, as far as its brackets say. Looks at each byte once, so that a
// server that asks again with every fragment costs no more than its bytes.
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
  // `id_seed` is what ids of calls that came without one are made from. `provider` is the key of what goes to a call's
  // metadata.
  ToolSlots(std::string id_seed, std::string provider, bool short_ids);

  // Adds a fragment; false if there are more calls than any message has.
  bool add(const CallFragment& fragment, std::vector<Event>& events);
  // Adds arguments to a call that has begun; false if there is none of that index.
  bool extend(std::int64_t index, std::string_view arguments, std::vector<Event>& events);
  // The calls, in the order of their first fragments, with a ToolCallCompleted each. Nothing if a call has no name.
  std::optional<std::vector<ToolCall>> complete(std::vector<Event>& events);

  bool empty() const { return slots_.empty(); }

 private:
  struct Slot {
    std::optional<std::int64_t> index = std::nullopt;
    std::string wire_id = {};  // as it was sent; "" if never
    std::string id = {};       // as it is shown
    std::string name = {};
    std::string arguments = {};
    ObjectScan scan = {};   // of the arguments
    std::size_t shown = 0;  // bytes of the arguments that events told of
    bool started = false;
    Json extra = null_json();
  };

  Slot* find(const CallFragment& fragment);
  Slot* find_index(std::int64_t index);
  std::string unique_id(std::string_view wire_id) const;
  void show(Slot& slot, std::vector<Event>& events) const;

  std::string id_seed_;
  std::string provider_;
  bool short_ids_;
  std::vector<Slot> slots_;
};

}  // namespace allm::openai_wire
