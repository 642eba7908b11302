// Ids and names of tool calls. Safe to call from any thread; one thread at a time for an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "allm/tool.hpp"

namespace allm {

// The ids of the calls of one message. Some servers send two calls of one message under one id; both have to be run and
// answered, so the second gets a new id. Each id takes constant time, whatever the others are.
class UniqueCallIds {
 public:
  // Takes an id: `wanted`, or if it is taken, `wanted` with the first of the suffixes -2, -3, … that gives a free id.
  std::string add(std::string wanted);
  bool contains(const std::string& id) const { return next_suffix_.contains(id); }

 private:
  std::unordered_map<std::string, std::size_t> next_suffix_;  // of each id that is taken
};

// A hash of the text: `size` letters and digits.
std::string short_hash(std::string_view text, std::size_t size);

// The ids of tool calls that a provider accepts. A "word" has letters, digits, `_` and `-`.
enum class CallIdRule : std::uint8_t { up_to_40, up_to_64, word_up_to_40, word_up_to_64, nine_alphanumerics };

// The name of a tool that an earlier message calls. A model may call a tool that does not exist, under a name that
// providers refuse (they accept words of up to 64 characters); that name is replaced by a similar one.
std::string sendable_tool_name(std::string_view name, const std::vector<Tool>& tools);

// A call as a request contains it.
struct SentCall {
  std::string id = {};
  std::string name = {};  // "" if only the answer to the call is known
};

// The ids that the calls of a conversation and their answers have in a request. An id that the provider does not accept
// is replaced by a hash of it, and so is an id that an earlier call of the conversation has, because some servers count
// from the beginning in each message and others refuse an id that occurs twice. All calls have different ids in a
// request. The id of a call depends only on the messages up to it, so the prompt prefix that a provider caches does not
// change while the conversation grows.
class SentCalls {
 public:
  // `tools` are those of the request; they must outlive the object.
  SentCalls(CallIdRule rule, const std::vector<Tool>& tools) : rule_(rule), tools_(&tools) {}

  // To be called for all calls and all answers, in their order. The result is valid as long as the object.
  const SentCall& add(std::string_view id, std::string_view name);
  // The call that the next answer with this id belongs to: the first one without an answer.
  const SentCall& answered(std::string_view id);

 private:
  // The calls that have the same id in the conversation.
  struct SameId {
    std::deque<std::size_t> open = {};  // without an answer
    std::size_t last = 0;               // added or answered last
    std::size_t next_number = 2;        // for the hash of the next one
  };
  SameId& append(std::string_view id, std::string name);

  CallIdRule rule_;
  const std::vector<Tool>* tools_;
  std::deque<SentCall> calls_;
  std::unordered_map<std::string, SameId> by_id_;
  std::unordered_set<std::string> taken_;
};

}  // namespace allm
