// Reads arbitrary bytes as a saved session. If it is valid, every operation on it must return a result, and what it
// returns must be readable again.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

constexpr std::size_t kMaxBytes = 16 << 10;

// Calls tools after a user message, and answers otherwise.
allm::FakeCallScript answer(const allm::Request& request) {
  const allm::MessageList& messages = request.messages;
  if (messages.empty() || messages[messages.size() - 1].role != allm::Role::user) {
    return {allm::fake_text("the answer"), allm::fake_finish(allm::FinishReason::stop)};
  }
  return {allm::fake_tool_call("c", "quick"), allm::fake_tool_call("d", "by_hand"),
          allm::fake_finish(allm::FinishReason::tool_calls)};
}

const allm::Engine& engine() {
  static const auto* const made = new allm::Engine(
      {.adapter = allm::fake(answer),
       .tools = {{.name = "quick", .handler = [](const allm::Json&) { return allm::ok(1); }},
                 {.name = "by_hand", .manual = true},
                 {.name = "asks", .handler = [](const allm::Json&) { return allm::ask_user("when?"); }}}});
  return *made;
}

void expect_saved(const allm::Session& session) {
  const allm::Result<std::string> text = allm::to_json(session);
  if (!text) __builtin_trap();
  const allm::Result<allm::Session> loaded = allm::from_json<allm::Session>(*text);
  if (!loaded || *loaded != session) __builtin_trap();
}

const allm::Session& session_of(const allm::Session& session) { return session; }
template <class Turn>
const allm::Session& session_of(const Turn& turn) {
  return turn.session;
}

template <class T>
void expect_sound(const allm::Result<T>& result) {
  if (result) return expect_saved(session_of(*result));
  if (result.error().message().empty()) __builtin_trap();
}

std::vector<allm::CallDecision> decisions(const allm::Session& session, const allm::Approval& approval) {
  std::vector<allm::CallDecision> list;
  for (const allm::PendingToolCall& call : session.pending_tool_calls) list.push_back({call.id, approval});
  return list;
}

// A stream that is dropped after some events.
void drop(const allm::Session& session, std::size_t events) {
  allm::SessionStream stream = allm::session_stream_reply(engine(), session, "hi");
  for (; events > 0 && stream.next().has_event(); --events) {
  }
  stream.drop();
  expect_saved(stream.session());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxBytes) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const allm::Result<allm::Session> session = allm::from_json<allm::Session>(text);
  if (!session) return 0;
  const allm::CallOptions options{.max_turns = 3};
  expect_saved(*session);
  static_cast<void>(allm::validate(*session));
  expect_sound(allm::session_recover(*session));
  expect_sound(allm::session_start(engine(), *session, options));
  expect_sound(allm::session_reply(engine(), *session, "hi", options));
  expect_sound(allm::session_continue(engine(), *session, std::optional<allm::Message>(), options));
  expect_sound(allm::session_step(engine(), *session, options));
  expect_sound(allm::session_approve(engine(), *session, decisions(*session, allm::Approval::allow()), options));
  expect_sound(allm::session_approve(engine(), *session, decisions(*session, allm::Approval::deny("no")), options));
  for (const allm::PendingToolCall& call : session->pending_tool_calls) {
    expect_sound(allm::submit_tool_result(*session, call.id, size));
  }
  drop(*session, size % 16);
  return 0;
}
