// The kill matrix: a program that runs sessions on a store is killed with SIGKILL at each commit of the journal, at
// random system calls and at random moments, started again and resumed, until its session is complete. This is done
// with tools in threads and in workers, on SQLite and on PostgreSQL. What the program really did is counted in a file
// of its own. Usage: allm_kill_matrix [kills]
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "allm/workers.hpp"

#include "tests/cases.hpp"
#include "tests/kill/agent.hpp"
#include "tests/kill/lives.hpp"
#include "tests/kill/plan.hpp"
#include "tests/kill/report.hpp"
#include "tests/kill/trial.hpp"
#include "tests/kill/verdict.hpp"
#include "tests/stores/postgres_server.hpp"

namespace allm::kill_matrix {
namespace {

namespace fs = std::filesystem;

// Sanitizers make a life ten times as long, so their builds kill at a part of the commits. They trace no system calls:
// LeakSanitizer does not work in a traced program.
constexpr std::size_t kStride = kSanitized ? 13 : 1;
constexpr bool kTraces = !kSanitized;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "allm-kill-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create the folder " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// The stores of one thread: two SQLite files and the database server that all threads share.
class Stores {
 public:
  Stores(const TemporaryFolder& folder, int thread, const std::string& postgres)
      : kept_("sqlite:" + folder.file("kept." + std::to_string(thread) + ".db"), true),
        reopened_("sqlite:" + folder.file("reopened." + std::to_string(thread) + ".db"), false),
        postgres_(postgres, true) {}

  StoreAccess& of(std::size_t cell, bool keeps_open) {
    if (kCells[cell].store == "postgresql") return postgres_;
    return keeps_open ? kept_ : reopened_;
  }

 private:
  StoreAccess kept_;
  StoreAccess reopened_;
  StoreAccess postgres_;
};

class Matrix {
 public:
  Matrix(const std::string& postgres, int kills) : postgres_(postgres), kills_(kills) {}

  bool run() {
    measure();
    const Plan plan(undisturbed_, kStride);
    {
      std::vector<std::jthread> threads;
      // More than there are cores: lives wait for the disk and the server.
      for (int i = 0; i < 4; ++i) threads.emplace_back([this, &plan, i] { run_sessions(plan, i); });
    }
    if (undisturbed_[0].stops == 0) {
      std::puts(kTraces ? "no kills at system calls: this system lets no program trace its children"
                        : "no kills at system calls: this build has a sanitizer");
    }
    return report_.print();
  }

 private:
  void measure() {
    Stores stores(folder_, 0, postgres_);
    for (std::size_t cell = 0; cell < kCells.size(); ++cell) {
      undisturbed_[cell] = run_undisturbed(stores.of(cell, true), kCells[cell].lane,
                                           folder_.file("undisturbed." + std::to_string(cell)), kTraces);
      if (comparable(undisturbed_[cell].session) != comparable(undisturbed_[0].session)) {
        throw std::runtime_error("sessions that nobody kills differ between stores or lanes");
      }
      std::printf("%s, %s lane: a life has %lld commits and %lld entries and exits of system calls\n",
                  kCells[cell].store.c_str(), kCells[cell].lane.c_str(),
                  static_cast<long long>(undisturbed_[cell].commits), static_cast<long long>(undisturbed_[cell].stops));
    }
  }

  void run_sessions(const Plan& plan, int thread) {
    Stores stores(folder_, thread + 1, postgres_);
    std::vector<Kept> kept;
    while (true) {
      const std::size_t number = next_++;
      if (number >= plan.sessions_of_all_commits() && report_.deaths() >= kills_) break;
      const Plan::Session session = plan.session(number);
      StoreAccess& access = stores.of(session.cell, session.keeps_store_open);
      const Trial trial =
          run_trial(access, kCells[session.cell].lane, folder_.file("effects." + std::to_string(number)),
                    session.death_of, &undisturbed_[session.cell].session);
      report_.add(session.cell, trial);
      if (trial.session) kept.push_back({&access, session.cell, *trial.session});
    }
    for (const Kept& session : kept) check_kept(session);
  }

  // A complete session, which later deaths of programs in the same database must leave alone.
  struct Kept {
    StoreAccess* access;
    std::size_t cell;
    Session session;
  };
  void check_kept(const Kept& kept) {
    const std::string& id = *kept.session.id;
    const Result<StoredSession> stored = kept.access->open()->load(id);
    if (!stored) return report_.add_loss(kept.cell, id, stored.error().message());
    if (!(stored->session == kept.session)) report_.add_loss(kept.cell, id, "it changed after it was complete");
  }

  const TemporaryFolder folder_;
  const std::string postgres_;
  const int kills_;
  std::array<Undisturbed, kCells.size()> undisturbed_ = {};
  std::atomic<std::size_t> next_ = 0;
  Report report_;
};

int run_matrix(int kills) {
  // So that a run that is stopped has shown how far it came.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    const testing::PostgresServer server;
    return Matrix(server.url(), kills).run() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "allm_kill_matrix: %s\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace allm::kill_matrix

int main(int argc, char** argv) {
  using namespace allm::kill_matrix;
  allm::run_as_worker_if_asked(agent_tools("thread"));
  if (is_life(argc, argv)) return live(life_from(argv));
  // The release build kills most often.
  const int usual = allm::testing::cases(allm::kSanitized ? 60 : 1'000);
  return run_matrix(argc == 2 ? std::atoi(argv[1]) : usual);
}
