// Repair of conversations that cannot be sent to a model, because calls and results do not fit together or a message
// was cut off:
//
//   if (!allm::diagnose(thread).empty()) thread = allm::repair(thread).thread;
//
// docs/history-repair.md has the rule for each problem. Pure functions; safe to call from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allm/thread.hpp"

namespace allm {

struct ThreadProblem {
  enum class Kind : std::uint8_t {
    call_without_result,  // no result of the call is in the thread
    cut_off_call,         // the text of the arguments is not complete JSON, and there is no result
    missing_call_id,      // a call with an empty id
    duplicate_call_id,    // two calls of one message have the same id
    result_without_call,  // no call with the id is in the thread
    missing_result_id,    // a tool message without the id of a call
    duplicate_result,     // a further result of a call
    separated_result,     // other messages are between the call and its result
    result_before_call,   // the call comes after its result
    empty_message,        // an assistant message without text, media and calls
    invalid_content,      // text that is not valid UTF-8, a part of an unknown type
  };
  Kind kind = Kind::call_without_result;
  std::size_t index = 0;     // of the message in the thread
  std::string id = {};       // of the call; empty if there is none
  std::string message = {};  // a sentence for people

  bool operator==(const ThreadProblem&) const = default;
};

// The enumerator's name, "call_without_result".
std::string_view to_string(ThreadProblem::Kind kind);

// Every problem of the thread, by the index of the message. A thread without problems can be sent: its calls and
// results fit together, and validate() accepts it.
std::vector<ThreadProblem> diagnose(const Thread& thread);

struct RepairOptions {
  // What happens to a result whose call is not in the thread. remove: it is removed. to_text: it becomes a user message
  // with the text of the result, for results that must not be lost.
  enum class Orphans : std::uint8_t { remove, to_text };
  Orphans orphans = Orphans::remove;
  // Whether calls of the last message with calls may stay without results, because the program still answers them (a
  // session that waits has them in pending_tool_calls). They are then neither answered nor removed.
  bool keep_open_calls = false;
};

// One problem, and what repair() did about it.
struct RepairAction {
  ThreadProblem problem = {};
  std::string done = {};  // a sentence for people
  bool operator==(const RepairAction&) const = default;
};

struct RepairedThread {
  Thread thread;
  std::vector<RepairAction> actions;  // empty if the thread was not changed
};

// Repairs all problems. Afterwards diagnose() finds none (except calls that `keep_open_calls` keeps). Text of system,
// user and assistant messages is never removed; bytes that are not valid UTF-8 are replaced by U+FFFD.
RepairedThread repair(const Thread& thread, const RepairOptions& options = {});

}  // namespace allm
