// What the threads of the soak share: runtimes, engines, tools, a server with faults, and saved sessions.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "allm/allm.hpp"

namespace allm::soak {

using Random = std::minstd_rand;
inline std::size_t below(Random& random, std::size_t bound) { return random() % bound; }
inline bool chance(Random& random, std::size_t one_in) { return below(random, one_in) == 0; }

// Ends the program: a promise of the library was broken.
[[noreturn]] void fail(std::string_view what, std::string_view detail = "");

// A server that speaks OpenAI's protocol and makes every mistake.
struct ServerAddress {
  std::string url = {};
  std::string ca_file = {};
};
// Starts one in this process; it is never stopped.
ServerAddress start_server(bool tls);

// The tools whose handlers may run in a worker.
std::vector<Tool> worker_tools();

// Saved sessions. Safe to call from any thread.
class Shelf {
 public:
  std::string take(Random& random);
  void put(Random& random, std::string session);

 private:
  static constexpr std::size_t kMaxBytes = 20'000;  // a longer session begins again
  std::mutex mutex_;
  std::vector<std::string> sessions_;
};

// Never destroyed: threads use it while the program exits.
class World {
 public:
  explicit World(const ServerAddress& server);

  const Engine& any_model(Random& random) const { return models_[below(random, models_.size())]; }
  const Engine& http(Random& random) const { return https_[below(random, https_.size())]; }
  const Engine& lanes() const { return *lanes_; }
  Engine on_new_runtime() const;
  Shelf& shelf() { return shelf_; }
  // On the runtimes that are not those of one operation.
  std::size_t running_handlers() const;

 private:
  Engine model_on(const std::shared_ptr<Runtime>& runtime) const;

  std::shared_ptr<Telemetry> telemetry_;
  std::vector<Tool> tools_;
  std::vector<Engine> models_;
  std::vector<Engine> https_;
  std::optional<Engine> lanes_;
  Shelf shelf_;
};

// One thread: does a random operation and checks its result. `name` is that of the operation.
class Operator {
 public:
  Operator(World& world, unsigned seed) : world_(world), random_(seed) {}
  // Returns the index of the operation in names().
  std::size_t run_one();
  static const std::vector<std::string_view>& names();

 private:
  CallOptions options();
  Thread thread();
  void chat_folded();
  void stream_and_drop();
  void cancel();
  void short_deadline();
  void one_step();
  void generate_one();
  void tool_calls();
  void structured();
  void new_runtime();
  void session();
  void session_stream();
  void over_http();
  void lanes();
  void check(const ChatResult& result);
  Session load();
  void store(const Session& session);
  SessionStream next_operation(const Engine& engine, const Session& session);
  std::vector<CallDecision> decisions(const Session& session);

  World& world_;
  Random random_;
};

}  // namespace allm::soak
