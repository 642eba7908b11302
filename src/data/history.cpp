#include "data/history.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "allm/json.hpp"
#include "allm/validate.hpp"

#include "data/unanswered.hpp"
#include "data/utf8_repair.hpp"
#include "data/validate.hpp"

namespace allm {
namespace {

using Kind = ThreadProblem::Kind;

bool is_tool(const Message& message) { return message.role == Role::tool; }
bool has_id(const Message& message) { return message.tool_call_id && !message.tool_call_id->empty(); }

bool is_empty(const Content& content) {
  if (const auto* text = std::get_if<std::string>(&content)) return text->empty();
  const auto& parts = std::get<std::vector<Part>>(content);
  return std::ranges::all_of(parts, [](const Part& part) {
    const auto* text = std::get_if<TextPart>(&part);
    return text != nullptr ? text->text.empty() : std::holds_alternative<UnknownPart>(part);
  });
}

// Whether the model's text ended before its arguments did.
bool is_cut_off(const ToolCall& call) {
  return call.raw_arguments && !call.raw_arguments->empty() && call.arguments.empty() &&
         !parse_json(*call.raw_arguments);
}

// A missing id is another problem.
bool is_invalid(const Message& message) {
  std::vector<FieldError> errors;
  check_message(message, {}, errors);
  return std::ranges::any_of(errors, [](const FieldError& error) { return error.reason != "required"; });
}

// nullopt: the part is removed.
std::optional<Part> valid_part(const Part& part) {
  if (const auto* text = std::get_if<TextPart>(&part)) {
    TextPart valid = *text;
    valid.text = repair_utf8(valid.text);
    return valid;
  }
  const Message alone = user(std::vector<Part>{part});
  return validate(alone) ? std::optional(part) : std::nullopt;
}

Content valid_content(const Content& content) {
  if (const auto* text = std::get_if<std::string>(&content)) return repair_utf8(*text);
  std::vector<Part> valid;
  for (const Part& part : std::get<std::vector<Part>>(content)) {
    if (auto kept = valid_part(part)) valid.push_back(*std::move(kept));
  }
  return valid;
}

// Whether nothing is left of an assistant message without calls.
bool is_empty_answer(const Message& message) {
  if (message.role != Role::assistant) return false;
  return is_empty(message.content) || (is_invalid(message) && is_empty(valid_content(message.content)));
}

std::string in_quotes(const std::string& id) { return "'" + id + "'"; }

}  // namespace

History::History(const Thread& thread, const RepairOptions& options)
    : messages_(thread.messages), options_(options), matched_(thread.messages.size()) {
  find_turns();
  for (Turn& turn : turns_) match_direct(turn);
  for (std::size_t i = 0; i < turns_.size(); ++i) {
    for (std::size_t call = turns_[i].first_call; call < turns_[i].end_call; ++call) {
      auto& open = open_turns_[calls_[call].id];
      if (!calls_[call].result) open.emplace(turns_[i].message, i);
    }
  }
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (is_tool(messages_[i]) && !matched_[i]) match_elsewhere(i);
  }
  for (const Turn& turn : turns_) settle_calls(turn);
  settle_messages();
  for (auto& [index, action] : noted_) actions_.push_back(std::move(action));
}

void History::note(Kind kind, std::size_t index, std::string id, const std::string& problem, std::string done) {
  ThreadProblem found{
      .kind = kind, .index = index, .id = std::move(id), .message = "message " + std::to_string(index) + " " + problem};
  noted_.emplace(index, RepairAction{.problem = std::move(found), .done = std::move(done)});
}

void History::find_turns() {
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    const Message& message = messages_[i];
    if (is_tool(message) && message.tool_call_id) ids_.try_emplace(*message.tool_call_id, 1);
    if (message.role != Role::assistant || message.tool_calls.empty()) continue;
    const std::size_t first = calls_.size();
    for (const ToolCall& call : message.tool_calls) {
      ids_.try_emplace(call.id, 1);
      calls_.push_back({.message = i, .call = &call, .id = call.id, .result = std::nullopt});
    }
    turns_.push_back({.message = i, .first_call = first, .end_call = calls_.size(), .results = {}});
  }
}

std::optional<std::size_t> History::open_call(const Turn& turn, const std::string& id) const {
  for (std::size_t i = turn.first_call; i < turn.end_call; ++i) {
    if (calls_[i].id == id && !calls_[i].result) return i;
  }
  return std::nullopt;
}

void History::take(std::size_t call, std::size_t result, Turn& turn) {
  calls_[call].result = result;
  turn.results.push_back(result);
  matched_[result] = true;
}

std::size_t History::take_open(std::size_t turn_index, const std::string& id, std::size_t result) {
  Turn& turn = turns_[turn_index];
  take(*open_call(turn, id), result, turn);
  if (!open_call(turn, id)) open_turns_[id].erase(turn.message);
  return turn.message;
}

void History::match_direct(Turn& turn) {
  std::size_t end = turn.message + 1;
  while (end < messages_.size() && is_tool(messages_[end])) ++end;
  for (std::size_t i = turn.message + 1; i < end; ++i) {
    if (!has_id(messages_[i])) continue;
    if (const auto call = open_call(turn, *messages_[i].tool_call_id)) take(*call, i, turn);
  }
  // A result without an id belongs to the first call that has none.
  for (std::size_t i = turn.message + 1; i < end; ++i) {
    if (has_id(messages_[i])) continue;
    const auto first = calls_.begin() + static_cast<std::ptrdiff_t>(turn.first_call);
    const auto last = calls_.begin() + static_cast<std::ptrdiff_t>(turn.end_call);
    const auto open = std::find_if(first, last, [](const Call& call) { return !call.result; });
    if (open == last) continue;
    take(static_cast<std::size_t>(open - calls_.begin()), i, turn);
    const bool same = messages_[i].tool_call_id == open->call->id;
    if (same) continue;  // both are empty
    note(Kind::missing_result_id, i, open->id, "is a tool message without the id of a call",
         "it became the result of the call " + in_quotes(open->id) + ", the first before it without a result");
  }
  std::ranges::sort(turn.results);
}

void History::match_elsewhere(std::size_t result) {
  const Message& message = messages_[result];
  const bool to_text = options_.orphans == RepairOptions::Orphans::to_text;
  const char* done = to_text ? "it became a user message" : "it was removed";
  if (!has_id(message))
    return note(Kind::missing_result_id, result, "", "is a tool message without the id of a call", done);
  const std::string& id = *message.tool_call_id;
  const auto found = open_turns_.find(id);
  if (found == open_turns_.end()) {
    return note(Kind::result_without_call, result, id,
                "is a result of the call " + in_quotes(id) + ", which is not in the thread", done);
  }
  const std::map<std::size_t, std::size_t>& open = found->second;
  const auto after = open.upper_bound(result);
  if (after != open.begin()) {
    const std::size_t message_of_call = take_open(std::prev(after)->second, id, result);
    return note(Kind::separated_result, result, id,
                "is the result of the call " + in_quotes(id) + " in message " + std::to_string(message_of_call) +
                    ", but does not follow it directly",
                "it was moved to the other results of that message");
  }
  if (after != open.end()) {
    const std::size_t message_of_call = take_open(after->second, id, result);
    return note(Kind::result_before_call, result, id,
                "is the result of the call " + in_quotes(id) + ", which comes later, in message " +
                    std::to_string(message_of_call),
                "it was moved behind its call");
  }
  note(Kind::duplicate_result, result, id, "is a further result of the call " + in_quotes(id), done);
}

bool History::is_copy(const Turn& turn, std::size_t call) const {
  const ToolCall& own = *calls_[call].call;
  for (std::size_t i = turn.first_call; i < call; ++i) {
    const ToolCall& other = *calls_[i].call;
    if (other.id == own.id && other.name == own.name && other.arguments == own.arguments &&
        other.raw_arguments == own.raw_arguments) {
      return true;
    }
  }
  return false;
}

std::string History::fresh_id(const std::string& id) {
  const std::string stem = id.empty() ? "call" : id;
  while (true) {
    std::string fresh = stem + "_" + std::to_string(++ids_[stem]);
    if (ids_.try_emplace(fresh, 1).second) return fresh;
  }
}

void History::settle_calls(const Turn& turn) {
  for (std::size_t i = turn.first_call; i < turn.end_call; ++i) {
    if (!calls_[i].result) settle_missing(turn, i);
    if (calls_[i].fate != Fate::removed) settle_id(turn, i);
  }
}

void History::settle_missing(const Turn& turn, std::size_t call) {
  Call& open = calls_[call];
  const std::string name = "calls '" + open.call->name + "' (id " + in_quotes(open.id) + ")";
  if (is_copy(turn, call)) {
    open.fate = Fate::removed;
    return note(Kind::duplicate_call_id, open.message, open.id, name + " twice with the same arguments",
                "the copy without a result was removed");
  }
  open.fate = Fate::open;
  if (options_.keep_open_calls && &turn == &turns_.back()) return;
  if (is_cut_off(*open.call)) {
    open.fate = Fate::removed;
    return note(Kind::cut_off_call, open.message, open.id, name + " with arguments that are cut off",
                "the call was removed, because it cannot have run");
  }
  open.fate = Fate::missing;
  note(Kind::call_without_result, open.message, open.id, name + ", and no result of it is in the thread",
       "a result was added which says that none is known");
}

void History::settle_id(const Turn& turn, std::size_t call) {
  Call& own = calls_[call];
  if (own.id.empty()) {
    own.id = fresh_id(own.id);
    return note(Kind::missing_call_id, own.message, "", "calls '" + own.call->name + "' without an id",
                "the call got the id " + in_quotes(own.id));
  }
  for (std::size_t i = turn.first_call; i < call; ++i) {
    if (calls_[i].fate == Fate::removed || calls_[i].call->id != own.call->id) continue;
    own.id = fresh_id(own.id);
    return note(Kind::duplicate_call_id, own.message, own.call->id,
                "has two calls with the id " + in_quotes(own.call->id),
                "the second call got the id " + in_quotes(own.id));
  }
}

void History::settle_messages() {
  std::size_t next_turn = 0;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    const Message& message = messages_[i];
    if (is_invalid(message)) {
      note(Kind::invalid_content, i, "", "has text that is not valid UTF-8, or a part of an unknown type",
           "invalid bytes were replaced by U+FFFD, parts that cannot be sent were removed");
    }
    const bool is_turn = next_turn < turns_.size() && turns_[next_turn].message == i;
    if (is_turn) ++next_turn;
    if (is_turn || !is_empty_answer(message)) continue;
    note(Kind::empty_message, i, "", "is an assistant message without text and calls", "it was removed");
  }
}

Message History::repaired_message(std::size_t index) const {
  Message message = messages_[index];
  if (message.role > Role::tool) message.role = Role::user;
  if (is_invalid(messages_[index])) message.content = valid_content(message.content);
  return message;
}

void History::append_turn(const Turn& turn, std::vector<Message>& messages) const {
  Message message = repaired_message(turn.message);
  message.tool_calls.clear();
  std::unordered_map<std::size_t, const std::string*> id_of;  // result → the id of its call
  for (std::size_t i = turn.first_call; i < turn.end_call; ++i) {
    const Call& call = calls_[i];
    if (call.fate == Fate::removed) continue;
    message.tool_calls.push_back(*call.call);
    message.tool_calls.back().id = call.id;
    if (call.result) id_of[*call.result] = &call.id;
  }
  const bool is_left = !message.tool_calls.empty() || !is_empty(message.content);
  if (is_left) messages.push_back(std::move(message));
  for (const std::size_t result : turn.results) {
    messages.push_back(repaired_message(result));
    messages.back().tool_call_id = *id_of.at(result);
  }
  for (std::size_t i = turn.first_call; i < turn.end_call; ++i) {
    if (calls_[i].fate == Fate::missing) messages.push_back(unknown_result(calls_[i].id));
  }
}

MessageList History::repaired() const {
  if (actions_.empty()) return messages_;
  std::vector<Message> messages;
  std::size_t next_turn = 0;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (next_turn < turns_.size() && turns_[next_turn].message == i) {
      append_turn(turns_[next_turn++], messages);
    } else if (is_tool(messages_[i])) {
      if (matched_[i] || options_.orphans == RepairOptions::Orphans::remove) continue;
      Message text = user("Result of a tool call that is not in this conversation:\n" + repaired_message(i).text());
      messages.push_back(std::move(text));
    } else if (!is_empty_answer(messages_[i])) {
      messages.push_back(repaired_message(i));
    }
  }
  return {std::move(messages)};
}

}  // namespace allm
