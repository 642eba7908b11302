#include "tests/budget/spender.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "allm/allm.hpp"
#include "allm/fake.hpp"
#include "allm/work_queue.hpp"

namespace allm::testing {
namespace {

// One write in append mode, so that lines of several processes do not mix.
void append_line(const std::string& path, const std::string& line) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string text = line + "\n";
  if (fd < 0 || write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(4);
  close(fd);
}

// The model, and what it charges. Safe to call from any thread.
class ChargingModel {
 public:
  explicit ChargingModel(SpenderOptions options) : options_(std::move(options)), random_(options_.seed) {}

  FakeCallScript answer() {
    const std::lock_guard lock(mutex_);
    const bool dies = ++answers_ == options_.dies_in_answer;
    const std::int64_t way = dies ? at_most(3) : 0;
    if (way == 1) raise(SIGKILL);
    const std::int64_t tokens = at_most(kMaxTokens);
    append_line(options_.effects, std::to_string(tokens));
    if (way == 2) raise(SIGKILL);
    if (way == 3) {
      std::thread([pause = std::chrono::microseconds(at_most(3'000))] {
        std::this_thread::sleep_for(pause);
        raise(SIGKILL);
      }).detach();
    }
    const Usage usage{.input_tokens = kInputTokens, .output_tokens = tokens};
    return {fake_delay(std::chrono::milliseconds(at_most(3) - 1)),
            fake_tool_call("call_" + std::to_string(answers_), "again"), fake_usage(usage),
            fake_finish(FinishReason::tool_calls)};
  }

 private:
  std::int64_t at_most(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random_); }

  const SpenderOptions options_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  int answers_ = 0;
};

// Budgets without reservations: looks whether something is left, and counts afterwards.
class LooksFirst : public BudgetLedger {
 public:
  LooksFirst(std::shared_ptr<Store> store, std::string name) : store_(std::move(store)), name_(std::move(name)) {}

  Result<Reserved> reserve(const Spend& worst_case) override {
    const auto budget = store_->load_budget(name_);
    if (!budget) return std::unexpected(budget.error());
    constexpr std::int64_t kLimit = 1'000'000'000;
    if (*budget->spent.nanos < kLimit) return ++last_;
    return BudgetRefusal{.limit = kLimit, .left = 0, .needed = worst_case.nanos};
  }
  Status settle(ReservationId, const Spend& actual) override {
    const auto ledger = open_budget(store_, name_);
    if (!ledger) return std::unexpected(ledger.error());
    const auto reserved = (*ledger)->reserve(actual);
    if (!reserved) return std::unexpected(reserved.error());
    return (*ledger)->settle(std::get<ReservationId>(*reserved), actual);
  }
  Result<Spend> left() override { return Spend{}; }

 private:
  const std::shared_ptr<Store> store_;
  const std::string name_;
  std::atomic<ReservationId> last_ = 0;
};

std::shared_ptr<const Catalogue> catalogue() {
  ModelRef model("charging");
  constexpr double kMillionNanos = 1e-3;
  model.pricing = {{"input", kInputPrice * kMillionNanos}, {"output", kOutputPrice * kMillionNanos}};
  return std::make_shared<const Catalogue>(std::vector<ModelRef>{model});
}

Engine engine_of(const std::shared_ptr<ChargingModel>& model, std::shared_ptr<BudgetLedger> budget) {
  CallOptions defaults;
  defaults.max_tokens = kMaxTokens;
  defaults.max_turns = 1'000'000;
  defaults.budget = std::move(budget);
  const Tool again =
      tool({.name = "again", .handler = [](const Json& /*arguments*/) -> ToolOutcome { return ok("yes"); }});
  return Engine({.adapter = fake([model](const AdapterCall&) { return model->answer(); }),
                 .model = "charging",
                 .tools = {again},
                 .defaults = std::move(defaults),
                 .catalogue = catalogue()});
}

// Whether the run ended because the budget refused a call; says so otherwise.
bool is_refused(const Result<ChatResult>& result) {
  if (result) {
    const auto* limit = std::get_if<ended::Limit>(&result->end);
    if (limit != nullptr && limit->budget && limit->which == ended::Limit::Which::max_cost) return true;
  }
  const std::string why = result ? std::string(result->halted_reason()) : result.error().message();
  std::fprintf(stderr, "a run ended with: %s\n", why.c_str());
  return false;
}

}  // namespace

int spend(const SpenderOptions& options) {
  const auto store = open_store(options.url);
  if (!store) return std::fprintf(stderr, "%s\n", store.error().message().c_str()), 3;
  std::shared_ptr<BudgetLedger> budget = std::make_shared<LooksFirst>(*store, options.budget);
  if (options.reserves) {
    const auto opened = open_budget(*store, options.budget);
    if (!opened) return std::fprintf(stderr, "%s\n", opened.error().message().c_str()), 3;
    budget = *opened;
  }
  const Engine engine = engine_of(std::make_shared<ChargingModel>(options), budget);
  std::atomic<bool> as_expected = true;
  std::vector<std::jthread> runs;
  for (int i = 0; i < kRunsOfProcess; ++i) {
    runs.emplace_back([&] {
      if (!is_refused(chat(engine, {user("Spend.")}))) as_expected = false;
    });
  }
  runs.clear();
  return as_expected ? 0 : 3;
}

}  // namespace allm::testing
