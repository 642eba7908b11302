// A session that survives: a run is interrupted after a tool call, and another runner resumes it. The model is not
// asked again for what it has answered, and the tool is not run again.
//
// The model is scripted, so that the example runs without a key. docs/durability.md has the promises.
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>

#include "allm/allm.hpp"
#include "allm/fake.hpp"
#include "allm/session_runner.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

// Runs until the tool has answered; then the stream is dropped, as if the program had been killed.
void run_and_crash(const allm::SessionRunner& runner, const std::string& id) {
  allm::StoredStream stream =
      runner.stream(id, {.kind = allm::SessionOrder::Kind::message, .message = allm::user("Send Ann the money.")});
  while (const allm::Poll event = stream.next()) {
    if (event->get_if<allm::ToolExecutionCompleted>() != nullptr) return;
  }
}

}  // namespace

int main() {
  const auto sent = std::make_shared<int>(0);
  const allm::Tool send = allm::tool({
      .name = "send_money",
      .description = "Sends money.",
      .handler =
          [sent](const allm::Json& /*arguments*/, const allm::ToolContext& context) {
            ++*sent;
            // A real tool passes the key on, so that the bank, too, performs the order once.
            return allm::ok({{"receipt", context.idempotency_key()}});
          },
      .on_interrupted = allm::OnInterrupted::ask,
  });
  const allm::Engine engine({
      .adapter = allm::fake({
          {allm::fake_tool_call("call_1", "send_money", {{"to", "Ann"}}),
           allm::fake_finish(allm::FinishReason::tool_calls)},
          {allm::fake_text("Ann has the money."), allm::fake_finish(allm::FinishReason::stop)},
      }),
      .tools = {send},
  });
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("allm-example-" + std::to_string(std::random_device()()) + ".db");
  const auto store = allm::open_store("sqlite:" + file.string());
  if (!store) return fail(store.error().message());
  const std::string id = *(*store)->create({})->session.id;

  run_and_crash(allm::SessionRunner(engine, *store), id);
  if (!allm::has_open_run((*store)->load(id)->session)) return fail("the run is still open");
  const auto turn = allm::SessionRunner(engine, *store).resume(id);
  if (!turn) return fail(turn.error().message());
  std::cout << turn->result.text() << " Sent " << *sent << " time.\n";
  std::filesystem::remove(file);
  return *sent == 1 && turn->result.text() == "Ann has the money." ? 0 : fail("one payment");
}
