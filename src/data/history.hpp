// The analysis of a thread's calls and results that diagnose() and repair() share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "allm/repair.hpp"

namespace allm {

// Matches results to calls and finds every problem. The thread must outlive it. One thread at a time.
class History {
 public:
  History(const Thread& thread, const RepairOptions& options);

  // By the index of the message. The thread has no problem if there is none.
  const std::vector<RepairAction>& actions() const { return actions_; }
  MessageList repaired() const;

 private:
  enum class Fate : std::uint8_t { answered, missing, open, removed };
  struct Call {
    std::size_t message = 0;
    const ToolCall* call = nullptr;
    std::string id;                     // after the repair
    std::optional<std::size_t> result;  // index of the message
    Fate fate = Fate::answered;
  };
  struct Turn {
    std::size_t message = 0;
    std::size_t first_call = 0;  // in calls_
    std::size_t end_call = 0;
    std::vector<std::size_t> results;  // indices of messages, those that follow directly first
  };

  void find_turns();
  // Results that follow the message of their call directly, in their order.
  void match_direct(Turn& turn);
  // Results that are elsewhere: with the nearest call before them, else with the nearest after them.
  void match_elsewhere(std::size_t result);
  void settle_calls(const Turn& turn);
  void settle_missing(const Turn& turn, std::size_t call);
  // Gives the call an id of its own if it has none or that of an earlier call of the turn.
  void settle_id(const Turn& turn, std::size_t call);
  void settle_messages();
  bool is_copy(const Turn& turn, std::size_t call) const;
  std::string fresh_id(const std::string& id);
  std::optional<std::size_t> open_call(const Turn& turn, const std::string& id) const;
  void take(std::size_t call, std::size_t result, Turn& turn);
  // Gives the result to a call of the turn, which has an open one of this id. Returns the index of its message.
  std::size_t take_open(std::size_t turn, const std::string& id, std::size_t result);
  void note(ThreadProblem::Kind kind, std::size_t index, std::string id, const std::string& problem, std::string done);
  Message repaired_message(std::size_t index) const;
  void append_turn(const Turn& turn, std::vector<Message>& messages) const;

  const MessageList& messages_;
  const RepairOptions options_;
  std::vector<Turn> turns_;
  std::vector<Call> calls_;
  std::vector<bool> matched_;  // for each message: whether it is a result that has its call
  // Call id → messages with a call of this id that has no result yet → their turns. Ids of all calls are in it.
  std::unordered_map<std::string, std::map<std::size_t, std::size_t>> open_turns_;
  std::unordered_map<std::string, int> ids_;        // all ids of calls and results, with the last number added to them
  std::multimap<std::size_t, RepairAction> noted_;  // by the index of the message
  std::vector<RepairAction> actions_;
};

}  // namespace allm
