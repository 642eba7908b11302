// Dropping a stream cancels the run.
//
// The user cancels while a tool runs. The stream is dropped, which does not block; the stop token asks the handler to
// stop; and the session keeps the user's message.
#include <condition_variable>
#include <future>
#include <iostream>
#include <latch>
#include <memory>
#include <mutex>
#include <string>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

// Shared by the handler and the program, because the handler may outlive the run.
struct Search {
  std::latch started{1};
  std::promise<void> stopped;
};

allm::Tool search_tool(const std::shared_ptr<Search>& search) {
  return allm::tool({
      .name = "search",
      .description = "Searches everything there is, which takes long.",
      .handler =
          [search](const allm::Json&, const allm::ToolContext& context) {
            search->started.count_down();
            std::mutex mutex;
            std::condition_variable_any changed;
            std::unique_lock lock(mutex);
            changed.wait(lock, context.stop_token(), [] { return false; });  // wakes when asked to stop
            search->stopped.set_value();
            return allm::failure("stopped");  // ignored: the run was dropped
          },
  });
}

allm::FakeScript script() {
  return {
      {allm::fake_tool_call("call_1", "search"), allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("Then I answer from memory: it was in 1969."), allm::fake_finish(allm::FinishReason::stop)},
  };
}

}  // namespace

int main() {
  const auto search = std::make_shared<Search>();
  std::future<void> stopped = search->stopped.get_future();
  const allm::Engine engine({.adapter = allm::fake(script()), .tools = {search_tool(search)}});

  allm::SessionStream stream = allm::session_stream_reply(engine, allm::Session{}, "When was the moon landing?");
  for (const allm::Event& event : stream) {
    if (event.tag() == allm::EventTag::tool_execution_started) {
      search->started.wait();
      std::cout << "the search runs; the user has seen enough\n";
      break;
    }
  }
  stream.drop();
  stopped.wait();
  std::cout << "the handler was asked to stop, and did\n";

  // The cancelled step is not part of the conversation. The user's message and every finished step are; no call is
  // pending.
  const allm::Session session = stream.session();
  std::cout << "the session is " << allm::to_string(session.status) << " and has " << session.thread.messages.size()
            << " message\n";
  if (session.status != allm::SessionStatus::idle || session.thread.messages.size() != 1) return fail("what was said");

  // The conversation continues from there.
  const auto answer = allm::session_reply(engine, session, "Never mind the search.");
  if (!answer) return fail(answer.error().message());
  std::cout << "assistant: " << answer->result.text() << '\n';
  return answer->session.status == allm::SessionStatus::completed ? 0 : fail("a session that gave its answer");
}
