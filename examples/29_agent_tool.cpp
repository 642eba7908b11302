// An agent as a tool of another: a manager asks a researcher, and one budget covers both.
#include <cstdint>
#include <iostream>
#include <string>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

allm::FakeEntry tokens(std::int64_t total) { return allm::fake_usage({.total_tokens = total}); }

}  // namespace

int main() {
  const allm::Tool search = allm::tool({
      .name = "search",
      .description = "Searches the library.",
      .handler = [](const allm::Json&) { return allm::ok("The tower was built in 1889."); },
  });
  const allm::Engine research({
      .adapter = allm::fake(
          {{allm::fake_tool_call("call_1", "search"), tokens(100), allm::fake_finish(allm::FinishReason::tool_calls)},
           {allm::fake_text("1889."), tokens(100), allm::fake_finish(allm::FinishReason::stop)}}),
      .tools = {search},
  });
  const allm::Tool researcher = allm::agent_tool(research, {
                                                               .name = "researcher",
                                                               .description = "Finds facts.",
                                                               .instructions = "You find facts. Answer briefly.",
                                                           });
  const allm::Engine manager({
      .adapter = allm::fake(
          {{allm::fake_tool_call("call_a", "researcher", {{"task", "When was the tower built?"}}), tokens(10),
            allm::fake_finish(allm::FinishReason::tool_calls)},
           {allm::fake_text("It was built in 1889."), tokens(10), allm::fake_finish(allm::FinishReason::stop)}}),
      .tools = {researcher},
  });

  allm::CallOptions options;
  options.max_total_tokens = 10'000;  // for the manager and the researcher together
  options.on_tool_progress = [](const allm::ToolCall& call, const allm::Json& progress) {
    std::cout << call.name << " uses " << progress["tool"] << '\n';
  };
  const auto result = allm::chat(manager, {allm::user("How old is the tower?")}, options);
  if (!result) return fail(result.error().message());
  std::cout << "researcher: " << result->steps.at(0).tool_results.at(0).text() << '\n';
  std::cout << "manager: " << result->text() << '\n';
  if (result->steps.at(0).tool_results.at(0).text() != "1889.") return fail("the researcher's answer");
  return result->usage.total_tokens == 220 ? 0 : fail("the tokens of both");
}
