// Many threads of random operations on the same runtimes, engines and sessions, and the exit of the program in the
// middle of them.
//
//   allm_soak                    64 threads for ALLM_SOAK_SECONDS (3), a check for leaks while they pause, then main
//                                returns while they run
//   allm_soak --exits N          N programs with fewer threads, which end at a random moment: by return, exit, or
//                                quick_exit
//
// The operations run in a process of their own; this one is their HTTPS server.
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <mutex>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define ALLM_SOAK_CHECKS_LEAKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ALLM_SOAK_CHECKS_LEAKS 1
#endif
#endif
#ifdef ALLM_SOAK_CHECKS_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

#include "tests/attack/soak/world.hpp"
#include "tests/cases.hpp"

extern char** environ;

namespace {

using allm::soak::Operator;
using allm::soak::Random;
using allm::soak::ServerAddress;
using allm::soak::World;
using std::chrono::milliseconds;

constexpr unsigned kThreads = 64;
constexpr unsigned kThreadsOfAnExit = 12;

using Counts = std::vector<std::atomic<std::size_t>>;

int number(const char* text, int otherwise) {
  if (text == nullptr) return otherwise;
  const std::string_view digits = text;
  int value = otherwise;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// Lets threads pause between two operations.
class Pause {
 public:
  void begin(unsigned threads) {
    std::unique_lock lock(mutex_);
    is_on_ = true;
    changed_.wait(lock, [&] { return waiting_ == threads; });
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_on_ = false;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !is_on_; });
    --waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_on_ = false;
  unsigned waiting_ = 0;
};

void run_thread(World& world, unsigned seed, Counts& counts, Pause& pause) {
  Operator worker(world, seed);
  try {
    while (true) {
      pause.wait();
      counts[worker.run_one()].fetch_add(1, std::memory_order_relaxed);
    }
  } catch (const std::exception& exception) {
    allm::soak::fail("an operation threw", exception.what());
  }
}

struct Threads {
  World world;
  Counts counts = Counts(Operator::names().size());
  Pause pause = {};
};

// Starts threads that never end. What they use is never destroyed.
Threads& start(const ServerAddress& server, unsigned threads, unsigned seed) {
  auto* const shared = new Threads{.world = World(server)};
  for (unsigned i = 0; i < threads; ++i) {
    std::thread([shared, seed = seed + i + 1] {
      run_thread(shared->world, seed, shared->counts, shared->pause);
    }).detach();
  }
  return *shared;
}

// While threads run, the sanitizer may miss what is only on their stacks. So it looks here, and not again at the exit.
void check_for_leaks() {
#ifdef ALLM_SOAK_CHECKS_LEAKS
  __lsan_do_leak_check();
#endif
}

void print(const Counts& counts, std::chrono::seconds time) {
  std::size_t all = 0;
  std::string list;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    all += counts[i];
    list += std::string(i == 0 ? "" : ", ") + std::string(Operator::names()[i]) + " " + std::to_string(counts[i]);
  }
  std::cout << "soak: " << all << " operations on " << kThreads << " threads in " << time.count() << " s (" << list
            << ")" << std::endl;
}

// Uses the library after main: the destructors of a program's static objects may do this, too.
struct UsesAllmAtExit {
  UsesAllmAtExit() = default;
  UsesAllmAtExit(const UsesAllmAtExit&) = delete;
  UsesAllmAtExit& operator=(const UsesAllmAtExit&) = delete;
  ~UsesAllmAtExit() {
    if (world == nullptr) return;
    Operator last(*world, 1);
    for (int i = 0; i < 5; ++i) last.run_one();
  }
  World* world = nullptr;
};
UsesAllmAtExit at_exit;

[[noreturn]] void quick_end() { std::quick_exit(0); }

// The program of an exit: threads are everywhere in the library when it ends.
int run_exit(const ServerAddress& server, int after, std::string_view way, unsigned seed) {
  start(server, kThreadsOfAnExit, seed);
  if (way == "static") at_exit.world = new World(server);
  std::this_thread::sleep_for(milliseconds(after));
  if (way == "exit") std::exit(0);
  if (way == "quick_exit") quick_end();
  if (way == "thread") {
    std::thread([] { std::exit(0); }).detach();
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
  return 0;
}

// Runs this program again, with these arguments, and returns its wait status; kills it if it hangs.
int status_of(std::vector<std::string> arguments, std::chrono::seconds time) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t process = 0;
  if (posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, argv.data(), environ) != 0) return -1;
  const auto end = std::chrono::steady_clock::now() + time + std::chrono::minutes(2);
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
      std::cerr << "soak: the program did not end" << std::endl;
      return status;
    }
    std::this_thread::sleep_for(milliseconds(2));
  }
  return status;
}

bool run_exits(const std::string& program, int count) {
  const ServerAddress server = allm::soak::start_server(true);
  Random random(static_cast<unsigned>(count));
  constexpr std::string_view kWays[] = {"return", "exit", "quick_exit", "thread", "static"};
  for (int i = 0; i < count; ++i) {
    const std::string way(kWays[static_cast<std::size_t>(i) % std::size(kWays)]);
    const std::string after = std::to_string(random() % 150);
    const std::string seed = std::to_string(random());
    const int status = status_of({program, "--exit", way, after, seed, server.url, server.ca_file}, {});
    if (status == 0) continue;
    std::cerr << "soak: exit " << i << " (" << way << " after " << after << " ms, seed " << seed
              << ") ended with the wait status " << status << std::endl;
    return false;
  }
  std::cout << "soak: " << count << " programs ended cleanly" << std::endl;
  return true;
}

std::chrono::seconds soak_time() { return std::chrono::seconds(number(std::getenv("ALLM_SOAK_SECONDS"), 3)); }

int run_soak(const ServerAddress& server) {
  Threads& threads = start(server, kThreads, 1);
  std::this_thread::sleep_for(soak_time());
  threads.pause.begin(kThreads);
  while (threads.world.running_handlers() != 0) std::this_thread::sleep_for(milliseconds(1));
  check_for_leaks();
  print(threads.counts, soak_time());
  threads.pause.end();
  std::this_thread::sleep_for(milliseconds(100));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  allm::run_as_worker_if_asked(allm::soak::worker_tools());
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "--run" && argc == 4) return run_soak({argv[2], argv[3]});
  if (mode == "--exit" && argc == 7) {
    return run_exit({argv[5], argv[6]}, number(argv[3], 0), argv[2], static_cast<unsigned>(number(argv[4], 0)));
  }
  bool clean = false;
  if (mode == "--exits" && argc == 3) {
    clean = run_exits(argv[0], allm::testing::cases(number(argv[2], 1)));
  } else {
    const ServerAddress server = allm::soak::start_server(true);
    clean = status_of({argv[0], "--run", server.url, server.ca_file}, soak_time()) == 0;
  }
  // The server's threads still run.
  std::_Exit(clean ? 0 : 1);
}
