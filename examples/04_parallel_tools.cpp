// Several tool calls of one step run at the same time.
//
// To show that, the first tool waits for the second one: if they ran one after the other, the first would wait until
// its deadline.
#include <iostream>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

allm::FakeScript script() {
  return {
      {allm::fake_tool_call("call_1", "flights", {{"to", "Lisbon"}}),
       allm::fake_tool_call("call_2", "hotels", {{"in", "Lisbon"}}), allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("Fly at nine and stay at the Tejo."), allm::fake_finish(allm::FinishReason::stop)},
  };
}

}  // namespace

int main() {
  // Handlers run on pool threads. They share ownership of the latch, because a handler past its deadline may outlive
  // the run.
  const auto hotels_found = std::make_shared<std::latch>(1);

  const allm::Tool flights = allm::tool({
      .name = "flights",
      .description = "Flights to a city.",
      .handler =
          [hotels_found](const allm::Json&) {
            hotels_found->wait();
            return allm::ok({{"departs", "09:10"}});
          },
  });
  const allm::Tool hotels = allm::tool({
      .name = "hotels",
      .description = "Hotels in a city.",
      .handler =
          [hotels_found](const allm::Json&) {
            hotels_found->count_down();
            return allm::ok({{"name", "Tejo"}});
          },
  });
  const allm::Engine engine({.adapter = allm::fake(script()), .tools = {flights, hotels}});

  // Both tools are started before one of them has ended.
  allm::StreamCollector collector;
  int started = 0;
  int started_before_any_was_done = 0;
  for (const allm::Event& event : allm::stream(engine, {allm::user("A weekend in Lisbon, please.")})) {
    collector.apply(event);
    if (const auto* call = event.get_if<allm::ToolExecutionStarted>()) {
      std::cout << "started   " << call->name << '\n';
      ++started;
    } else if (const auto* done = event.get_if<allm::ToolExecutionCompleted>()) {
      if (started_before_any_was_done == 0) started_before_any_was_done = started;
      std::cout << "completed " << done->name << '\n';
    }
  }
  const allm::Result<allm::ChatResult> result = collector.chat_result();
  if (!result) return fail(result.error().message());
  std::cout << result->text() << '\n';

  // The model gets the results in the order of its calls, whichever tool finished first.
  const std::vector<allm::Message>& results = result->steps[0].tool_results;
  if (started_before_any_was_done != 2) return fail("two tools at once");
  if (results[0].tool_call_id != "call_1" || results[1].tool_call_id != "call_2") return fail("results in call order");
  return 0;
}
