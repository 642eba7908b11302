// Pages of lists and searches of many sessions.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stores/bench.hpp"
#include "tests/stores/postgres_server.hpp"

namespace allm::bench {
namespace {

constexpr int kPages = 100;
constexpr int kRare = 2'000;  // one of so many sessions has a rare word, status or tenant

NewSession session_of(int i) {
  const bool is_rare = i % kRare == 0;
  // Some words of all sessions, some of a few, and one of a single session.
  const std::string question = fmt::format("What is the weather in town{} on day{}, and is there a {}?", i % 997,
                                           i % 365, is_rare ? "lighthouse" : "station");
  const std::string answer =
      fmt::format("The weather is fine, order{} has arrived, and the train leaves at {}.", i, i % 24);
  Session session{.thread = {user(question), assistant(answer)}};
  if (is_rare) session.status = SessionStatus::completed;
  return {.session = std::move(session), .tenant = is_rare ? "rare" : fmt::format("tenant{}", i % 10)};
}

// `settle`: called when the sessions are stored.
void measure(const Settings& settings, Store& store, const std::string& name, const std::function<void()>& settle) {
  const double create = microseconds([&] {
    for (int i = 0; i < settings.sessions; ++i) required(store.create(session_of(i)));
  });
  fmt::print("\n{} stored sessions, pages of 50, {} (created in {:.0f} us each)\n", settings.sessions, name,
             create / settings.sessions);

  settle();
  std::string after;
  for (int page = 1; page < kPages; ++page) after = required(store.list({.after = after})).next;
  const std::vector<std::pair<std::string, SessionQuery>> queries = {
      {"the first page", {}},
      {fmt::format("page {}", kPages), {.after = after}},
      {"the sessions of a status that nearly all have", {.status = SessionStatus::idle}},
      {"the sessions of a rare status", {.status = SessionStatus::completed}},
      {"the sessions of a tenant with a tenth of them", {.tenant = "tenant3"}},
      {"the sessions of a rare tenant", {.tenant = "rare"}},
      {"a word of one session", {.text = fmt::format("order{}", settings.sessions / 2 + 1)}},
      {"a rare word", {.text = "lighthouse"}},
      {"a word of all sessions", {.text = "weather"}},
      {"a common and a rare word", {.text = "weather lighthouse"}},
  };
  std::vector<std::vector<double>> times(queries.size());
  std::vector<std::size_t> found(queries.size());
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      found[i] = required(store.list(queries[i].second)).sessions.size();
      times[i].push_back(median_us(5, [&] { required(store.list(queries[i].second)); }));
    }
  }
  for (std::size_t i = 0; i < queries.size(); ++i) {
    print_row(queries[i].first, times[i], "us", fmt::format("{} sessions", found[i]));
  }
}

}  // namespace

void measure_lists(const Settings& settings) {
  {
    const std::shared_ptr<Store> sqlite = required(open_store(fmt::format("sqlite:{}/lists.db", settings.folder)));
    measure(settings, *sqlite, "SQLite", [] {});
  }
  testing::PostgresServer server;
  const std::string url = server.new_database();
  const std::shared_ptr<Store> postgres = required(open_store(url));
  // What the server does itself after a while.
  measure(settings, *postgres, "PostgreSQL", [&] { testing::run_sql(url, "VACUUM ANALYZE allm.sessions"); });
}

}  // namespace allm::bench
