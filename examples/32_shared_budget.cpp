// A spending cap for several processes: a budget that lives in a store. Two "processes" (stores that are opened twice)
// share 0.05; one of them dies with a reservation, which counts as spent until an operator gives it back.
//
// The model is scripted, so that the example runs without a key. docs/run-control.md has the rules.
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <variant>

#include "allm/allm.hpp"
#include "allm/fake.hpp"
#include "allm/work_queue.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

// An answer of this model costs at most 0.01: 1,000 tokens at 10 per million.
allm::Engine engine_with(std::shared_ptr<allm::BudgetLedger> budget) {
  allm::ModelRef model("small");
  model.pricing = {{"input", 0.0}, {"output", 10.0}};
  const auto catalogue = std::make_shared<const allm::Catalogue>(std::vector<allm::ModelRef>{model});
  allm::CallOptions defaults;
  defaults.max_tokens = 1'000;
  defaults.budget = std::move(budget);
  return allm::Engine({.adapter = allm::fake([](const allm::Request&) -> allm::FakeCallScript {
                         return {allm::fake_text("Yes."), allm::fake_usage({.input_tokens = 10, .output_tokens = 900}),
                                 allm::fake_finish(allm::FinishReason::stop)};
                       }),
                       .model = "small",
                       .defaults = std::move(defaults),
                       .catalogue = catalogue});
}

// Asks until the budget refuses a call. Returns the number of answers.
int ask_until_refused(const allm::Engine& engine) {
  for (int answers = 0;; ++answers) {
    const auto result = allm::chat(engine, {allm::user("Shall we go on?")});
    if (!result || result->halted_reason() == allm::halted::max_cost) return answers;
  }
}

int run(const std::string& url) {
  // [stored-budget]
  auto store = allm::open_store(url);  // in each process
  if (!store) return fail(store.error().message());
  auto budget = allm::open_budget(*store, "team", allm::BudgetOptions{.max_cost = 0.05});
  if (!budget) return fail(budget.error().message());
  const allm::Engine engine = engine_with(*budget);
  // [/stored-budget]

  // Another process reserves an answer and dies.
  const auto other = allm::open_store(url);
  const auto of_other = allm::open_budget(*other, "team");
  const auto reserved = (*of_other)->reserve({.tokens = 1'100, .nanos = allm::cost_to_nanos(0.01)});
  if (!reserved || !std::holds_alternative<allm::ReservationId>(*reserved)) return fail("the first call fits");

  const int answers = ask_until_refused(engine);
  // [forget-reservations]
  const auto stored = (*store)->load_budget("team");
  std::cout << answers << " answers; spent " << allm::nanos_to_cost(*stored->spent.nanos) << ", reserved "
            << allm::nanos_to_cost(*stored->reserved.nanos) << '\n';
  for (const allm::StoredReservation& dead : *(*store)->list_reservations("team")) {
    std::cout << "reserved by " << dead.holder << '\n';  // an operator sees that this process is gone
  }
  const auto given_back = (*store)->forget_reservations("team", {.older_than = std::chrono::milliseconds(0)});
  // [/forget-reservations]
  if (answers != 4 || !given_back || given_back->count != 1) return fail("four answers, and one reservation");
  const int more = ask_until_refused(engine);
  std::cout << more << " more answer\n";
  return more == 1 ? 0 : fail("one more answer fits");
}

}  // namespace

int main() {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("allm-example-" + std::to_string(std::random_device()()) + ".db");
  const int code = run("sqlite:" + file.string());
  std::filesystem::remove(file);
  return code;
}
