// The cost of session stores: a commit beside the same bytes written and synced by a bare program, a load beside
// parsing the same bytes, and lists and searches of many sessions.
//
//   allm_store_bench                   in an SQLite file below the current folder, which is removed afterwards
//   allm_store_bench postgresql://…    in this database, whose sessions stay
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "allm/serialize.hpp"
#include "allm/work_queue.hpp"

namespace {

using Clock = std::chrono::steady_clock;

template <class T>
T required(allm::Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "the store failed: {}\n", result.error().message());
  std::exit(1);
}

double median_us(int count, const std::function<void()>& run) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::ranges::nth_element(times, times.begin() + count / 2);
  return times[static_cast<std::size_t>(count / 2)];
}

void print(const std::string& what, double us, const std::string& ratio = {}) {
  fmt::print("{:<58} {:>12.1f} us  {}\n", what, us, ratio);
}

// Appends and syncs, as a program does that keeps a log of its own.
class BareFile {
 public:
  explicit BareFile(const std::string& path)
      : path_(path), fd_(open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)) {}
  BareFile(const BareFile&) = delete;
  BareFile& operator=(const BareFile&) = delete;
  ~BareFile() {
    close(fd_);
    std::filesystem::remove(path_);
  }
  void append(const std::string& bytes) const {
    if (write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) || fdatasync(fd_) != 0)
      std::exit(1);
  }

 private:
  const std::string path_;
  const int fd_;
};

allm::LogEntry fact(std::size_t bytes) { return {.kind = "finished", .body = {{"result", std::string(bytes, 'x')}}}; }

void measure_commits(allm::Store& store, const std::string& folder) {
  constexpr int kCount = 300;
  const BareFile file(folder + "/bare.log");
  const std::string id = *required(store.create({})).session.id;
  for (const std::size_t bytes : {std::size_t{200}, std::size_t{4'000}}) {
    const std::string body = *allm::write_json(fact(bytes).body);
    const double bare = median_us(kCount, [&] { file.append(body); });
    const double commit =
        median_us(kCount, [&] { required(store.commit({.session_id = id, .entries = {fact(bytes)}})); });
    print(fmt::format("append {} bytes, write and fdatasync", body.size()), bare);
    print(fmt::format("append {} bytes, commit of an entry", body.size()), commit,
          fmt::format("{:.2f} x", commit / bare));
  }
}

allm::Session conversation(int messages) {
  std::vector<allm::Message> list;
  for (int i = 0; i < messages; ++i) {
    const std::string text = fmt::format("Message {} about the weather in Rome, and about trains to Milan.", i);
    list.push_back(i % 2 == 0 ? allm::user(text) : allm::assistant(text));
  }
  return {.thread = allm::Thread(std::move(list))};
}

void measure_loads(allm::Store& store) {
  for (const int messages : {200, 10'000}) {
    const allm::Session session = required(store.create({.session = conversation(messages)})).session;
    const std::string text = required(allm::to_json(session));
    const int count = messages > 1'000 ? 15 : 200;
    const double parse = median_us(count, [&] { required(allm::from_json<allm::Session>(text)); });
    const double load = median_us(count, [&] { required(store.load(*session.id)); });
    print(fmt::format("{} messages, parse {} bytes", messages, text.size()), parse);
    print(fmt::format("{} messages, load", messages), load, fmt::format("{:.2f} x", load / parse));
  }
}

void measure_lists(allm::Store& store, int sessions) {
  const auto begin = Clock::now();
  for (int i = 0; i < sessions; ++i) {
    const std::string topic = i % 1'000 == 0 ? "about a harbour" : "about the weather";
    required(store.create({.session = {.thread = {allm::user(fmt::format("Question {} {}", i, topic))}}}));
  }
  print(fmt::format("create, each of {} sessions", sessions),
        std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / sessions);
  print("the first page of 50", median_us(20, [&] { required(store.list({})); }));
  print("a page of a rare word", median_us(20, [&] { required(store.list({.text = "harbour"})); }));
  print("a page of a word in nearly all", median_us(20, [&] { required(store.list({.text = "weather"})); }));
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = "allm-store-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror("no folder could be made");
    return 1;
  }
  {
    const std::string url = argc > 1 ? argv[1] : "sqlite:" + folder + "/bench.db";
    const int sessions = argc > 2 ? std::atoi(argv[2]) : 100'000;
    const std::shared_ptr<allm::Store> store = required(allm::open_store(url));
    measure_commits(*store, folder);
    measure_loads(*store);
    measure_lists(*store, sessions);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
