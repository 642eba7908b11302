// Loads of long sessions, beside parsing the same bytes.
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <vector>

#include "allm/serialize.hpp"

#include "stores/bench.hpp"
#include "tests/stores/postgres_server.hpp"

namespace allm::bench {
namespace {

Session conversation(int messages) {
  std::vector<Message> list;
  for (int i = 0; i < messages; ++i) {
    const std::string text = fmt::format("Message {} about the weather in Rome, and about trains to Milan.", i);
    list.push_back(i % 2 == 0 ? user(text) : assistant(text));
  }
  return {.thread = Thread(std::move(list))};
}

// Reads the bytes of a session from PostgreSQL, and nothing else.
class BareReader {
 public:
  explicit BareReader(const std::string& url) : connection_(PQconnectdb(url.c_str()), &PQfinish) {
    check(PQprepare(connection_.get(), "read", "SELECT body FROM allm.sessions WHERE id = $1", 1, nullptr),
          PGRES_COMMAND_OK);
  }
  void read(const std::string& id) const {
    const char* const value = id.c_str();
    check(PQexecPrepared(connection_.get(), "read", 1, &value, nullptr, nullptr, 0), PGRES_TUPLES_OK);
  }

 private:
  void check(PGresult* result, ExecStatusType expected) const {
    const bool is_expected = PQresultStatus(result) == expected;
    PQclear(result);
    if (is_expected) return;
    fmt::print(stderr, "{}\n", PQerrorMessage(connection_.get()));
    std::exit(1);
  }

  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

void measure(const Settings& settings, Store& store, const BareReader* reader, int messages) {
  const Session session = required(store.create({.session = conversation(messages)})).session;
  const std::string text = required(to_json(session));
  const int count = messages > 1'000 ? 10 : 200;
  std::vector<double> parses;
  std::vector<double> reads;
  std::vector<double> loads;
  for (int round = 0; round < settings.rounds; ++round) {
    parses.push_back(median_us(count, [&] { required(from_json<Session>(text)); }));
    if (reader != nullptr) reads.push_back(median_us(count, [&] { reader->read(*session.id); }));
    loads.push_back(median_us(count, [&] { required(store.load(*session.id)); }));
  }
  fmt::print("\nLoad of a session of {} messages, {} bytes, {}\n", messages, text.size(),
             reader == nullptr ? "SQLite" : "PostgreSQL");
  print_row("parse its bytes", parses, "us");
  if (reader != nullptr) print_row("read them with bare libpq", reads, "us");
  print_row("load", loads, "us", fmt::format("{:.2f} x", median(loads) / median(parses)));
}

}  // namespace

void measure_loads(const Settings& settings) {
  testing::PostgresServer server;
  const std::shared_ptr<Store> sqlite = required(open_store(fmt::format("sqlite:{}/loads.db", settings.folder)));
  const std::string url = server.new_database();
  const std::shared_ptr<Store> postgres = required(open_store(url));
  const BareReader reader(url);
  for (const int messages : {200, 10'000}) {
    measure(settings, *sqlite, nullptr, messages);
    measure(settings, *postgres, &reader, messages);
  }
}

}  // namespace allm::bench
