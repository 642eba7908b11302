// A journaled step: a model call, a tool call, and the commits of both, beside a bare program that writes and syncs the
// same bytes, and beside another library that does the same steps.
#include <cstdio>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "allm/fake.hpp"
#include "allm/serialize.hpp"
#include "allm/session_runner.hpp"

#include "stores/bench.hpp"

namespace allm::bench {
namespace {

constexpr std::size_t kTextBytes = 400;      // of each response
constexpr std::size_t kArgumentBytes = 100;  // of each tool call
constexpr std::size_t kResultBytes = 1'000;  // of each tool result

std::shared_ptr<const FakeScript> script_of(int steps) {
  FakeScript script;
  for (int i = 0; i < steps; ++i) {
    script.push_back({fake_text(std::string(kTextBytes, 't')),
                      fake_tool_call("call_" + std::to_string(i), "look", {{"x", std::string(kArgumentBytes, 'a')}}),
                      fake_finish(FinishReason::tool_calls)});
  }
  script.push_back({fake_text("done"), fake_finish(FinishReason::stop)});
  return std::make_shared<const FakeScript>(std::move(script));
}

Engine engine_of(int steps) {
  const Tool look =
      tool({.name = "look", .handler = [result = std::string(kResultBytes, 'r')](const Json&) { return ok(result); }});
  return Engine({.adapter = std::make_shared<FakeAdapter>(script_of(steps)),
                 .tools = {look},
                 .defaults = {.max_turns = steps + 1}});
}

// A change of the store: what it writes, and the commit, or nullopt if it acquires a lease.
struct Change {
  std::string bytes = {};  // the bodies of entries, and the session
  std::optional<Commit> commit = std::nullopt;
};

// Passes everything on, and keeps the changes.
class RecordingStore : public SessionStore {
 public:
  explicit RecordingStore(std::shared_ptr<SessionStore> store) : store_(std::move(store)) {}

  Result<StoredSession> create(NewSession session) override { return store_->create(std::move(session)); }
  Result<StoredSession> load(const std::string& id) override { return store_->load(id); }
  Result<SessionPage> list(const SessionQuery& query) override { return store_->list(query); }
  Status remove(const std::string& id) override { return store_->remove(id); }
  Result<Committed> commit(const Commit& change) override {
    std::string bytes;
    for (const LogEntry& entry : change.entries) bytes += required(write_json(entry.body));
    if (change.session) bytes += required(to_json(*change.session));
    note({.bytes = std::move(bytes), .commit = change});
    return store_->commit(change);
  }
  Result<std::vector<LogEntry>> read_log(const std::string& id, std::int64_t after, std::size_t limit,
                                         std::string_view kind) override {
    return store_->read_log(id, after, limit, kind);
  }
  Result<bool> wait_for_log(const std::string& id, std::int64_t after, std::chrono::milliseconds timeout) override {
    return store_->wait_for_log(id, after, timeout);
  }
  Result<Lease> acquire(const std::string& id, std::chrono::milliseconds duration) override {
    Result<Lease> lease = store_->acquire(id, duration);
    if (lease) note({.bytes = fmt::format("{} {}", id, lease->fence)});
    return lease;
  }
  Result<Lease> renew(const Lease& lease, std::chrono::milliseconds duration) override {
    return store_->renew(lease, duration);
  }
  Status release(const Lease& lease) override { return store_->release(lease); }

  std::vector<Change> take_changes() {
    const std::lock_guard lock(mutex_);
    return std::move(changes_);
  }

 private:
  void note(Change change) {
    const std::lock_guard lock(mutex_);
    changes_.push_back(std::move(change));
  }

  const std::shared_ptr<SessionStore> store_;
  std::mutex mutex_;
  std::vector<Change> changes_;
};

void run_session(const std::shared_ptr<SessionStore>& store, const std::string& id, int steps) {
  const SessionRunner runner(engine_of(steps), store);
  const StoredTurn turn = required(runner.start(id));
  if (turn.result.steps.size() != static_cast<std::size_t>(steps) + 1) {
    fmt::print(stderr, "the run had {} steps: {}\n", turn.result.steps.size(), turn.result.halted_reason());
    std::exit(1);
  }
}

std::string new_session(SessionStore& store) {
  return *required(store.create({.session = {.thread = {user("Look at everything.")}}})).session.id;
}

// The time of a step in a run of `steps` steps, on average over `runs` sessions.
double journaled_us(const std::shared_ptr<SessionStore>& store, int steps, int runs) {
  double total = 0;
  for (int i = 0; i < runs; ++i) {
    const std::string id = new_session(*store);
    total += microseconds([&] { run_session(store, id, steps); });
  }
  return total / steps / runs;
}

// The changes alone, made one after the other by one thread.
// `last`: gets the time of the last commits, which also save the session.
double commits_us(Store& store, const std::vector<Change>& changes, int steps, int runs, std::vector<double>& last) {
  double total = 0;
  for (int i = 0; i < runs; ++i) {
    const std::string id = new_session(store);
    Lease lease;
    double time = 0;
    for (const Change& change : changes) {
      std::optional<Commit> commit = change.commit;
      if (commit) commit->session_id = id;
      if (commit) commit->fence = lease.fence;
      time = microseconds([&] {
        if (commit) required(store.commit(*commit));
        if (!commit) lease = required(store.acquire(id, std::chrono::seconds(30)));
      });
      total += time;
    }
    last.push_back(time);
  }
  return total / steps / runs;
}

double plain_us(int steps, int runs) {
  double total = 0;
  for (int i = 0; i < runs; ++i) {
    total += microseconds([&] {
      if (!chat(engine_of(steps), {user("Look at everything.")})) std::exit(1);
    });
  }
  return total / steps / runs;
}

// A file to which changes are written and synced one after the other.
class BareFile {
 public:
  // `bytes`: the size that the file has before; 0 means that it grows with each write.
  BareFile(const std::string& path, std::size_t bytes)
      : fd_(open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600)) {
    const std::string zeros(bytes, '\0');
    write(zeros);
    if (lseek(fd_, 0, SEEK_SET) != 0) std::exit(1);
  }
  BareFile(const BareFile&) = delete;
  BareFile& operator=(const BareFile&) = delete;
  ~BareFile() { close(fd_); }
  void write(const std::string& bytes) const {
    if (::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) || fdatasync(fd_) != 0) {
      std::perror("a bare file could not be written");
      std::exit(1);
    }
  }

 private:
  const int fd_;
};

double bare_us(const std::string& path, const std::vector<Change>& changes, bool grows, int steps, int runs) {
  std::size_t bytes = 0;
  for (const Change& change : changes) bytes += change.bytes.size();
  const BareFile file(path, grows ? 0 : bytes * static_cast<std::size_t>(runs));
  return microseconds([&] {
           for (int i = 0; i < runs; ++i) {
             for (const Change& change : changes) file.write(change.bytes);
           }
         }) /
         steps / runs;
}

// The time of a step as the command prints it.
std::optional<double> peer_us(const Settings& settings, int steps, int runs, const char* durability) {
  const std::string command = fmt::format("{} '{}' {} {} {} {} {} {}", settings.peer, settings.folder, steps, runs,
                                          durability, kTextBytes, kArgumentBytes, kResultBytes);
  FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return std::nullopt;
  double time = 0;
  const int read = std::fscanf(output, "%lf", &time);
  const int status = pclose(output);
  if (read == 1 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return time;
  fmt::print(stderr, "the peer failed: {}\n", command);
  return std::nullopt;
}

void measure(const Settings& settings, int steps, int runs) {
  const std::shared_ptr<Store> store =
      required(open_store(fmt::format("sqlite:{}/steps{}.db", settings.folder, steps)));
  const auto recorder = std::make_shared<RecordingStore>(store);
  run_session(recorder, new_session(*store), steps);
  const std::vector<Change> changes = recorder->take_changes();
  std::size_t bytes = 0;
  for (const Change& change : changes) bytes += change.bytes.size();

  const std::string bare_path = settings.folder + "/bare.log";
  std::vector<double> grown;
  std::vector<double> overwritten;
  std::vector<double> journaled;
  std::vector<double> commits;
  std::vector<double> last_commit;
  std::vector<double> plain;
  std::vector<double> peer_full;
  std::vector<double> peer_default;
  // The file of the write-ahead log is new during the first sessions of a database.
  journaled_us(store, steps, 1 + 1'000 / steps);
  for (int round = 0; round < settings.rounds; ++round) {
    grown.push_back(bare_us(bare_path, changes, true, steps, runs));
    journaled.push_back(journaled_us(store, steps, runs));
    overwritten.push_back(bare_us(bare_path, changes, false, steps, runs));
    commits.push_back(commits_us(*store, changes, steps, runs, last_commit));
    plain.push_back(plain_us(steps, runs));
    if (settings.peer.empty()) continue;
    if (const auto time = peer_us(settings, steps, runs, "full")) peer_full.push_back(*time);
    if (const auto time = peer_us(settings, steps, runs, "default")) peer_default.push_back(*time);
  }

  fmt::print("\nA step (a model call, a tool call) in runs of {} steps: {:.2f} commits, {} bytes of a run\n", steps,
             static_cast<double>(changes.size()) / steps, bytes);
  const double step = median(journaled);
  print_row("write and fdatasync, the file grows", grown, "us a step");
  print_row("write and fdatasync, the file is overwritten", overwritten, "us a step");
  print_row("run without a store", plain, "us a step");
  print_row("its commits alone, by one thread", commits, "us a step",
            fmt::format("the last of a run, with the session: {:.0f} us", median(last_commit)));
  print_row("journaled on SQLite", journaled, "us a step",
            fmt::format("{:.2f} x of the file that grows, {:.2f} x of the other", step / median(grown),
                        step / median(overwritten)));
  if (!peer_full.empty()) {
    print_row("peer, synchronous = FULL", peer_full, "us a step", fmt::format("{:.1f} x", median(peer_full) / step));
  }
  if (!peer_default.empty()) {
    print_row("peer, its defaults", peer_default, "us a step", fmt::format("{:.1f} x", median(peer_default) / step));
  }
}

}  // namespace

void measure_steps(const Settings& settings) {
  measure(settings, 20, 20);
  measure(settings, 100, 4);
}

}  // namespace allm::bench
