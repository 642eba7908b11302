#include "tests/attack/soak/world.hpp"

#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

#include "allm/fake.hpp"

#include "tests/http_server.hpp"

namespace allm::soak {
namespace {

using std::chrono::milliseconds;

// Of the calling thread; handlers, models and servers run on any thread. Without a destructor.
Random& own_random() {
  static std::atomic<unsigned> seed{1};
  thread_local Random random(seed.fetch_add(7919));
  return random;
}

void nap(int at_most) {
  std::this_thread::sleep_for(milliseconds(1 + own_random()() % static_cast<unsigned>(at_most)));
}

class CountingTelemetry : public Telemetry {
 public:
  void on_event(const TelemetryEvent&) override { events_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> events_{0};
};

// --- Tools ---

// Answers a call only when the next one comes; the last one runs into its deadline.
class LateAnswers {
 public:
  void keep(const ToolCompletion& done) {
    std::optional<ToolCompletion> earlier;
    {
      const std::lock_guard lock(mutex_);
      earlier = std::exchange(kept_, done);
    }
    if (earlier) (*earlier)(ok("later"));
  }

 private:
  std::mutex mutex_;
  std::optional<ToolCompletion> kept_;
};

ToolOutcome wait_for_stop(const Json&, const ToolContext& context) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait(lock, context.stop_token(), [] { return false; });
  return failure("stopped");
}

std::vector<Tool> thread_tools() {
  auto late = std::make_shared<LateAnswers>();
  return {
      {.name = "quick", .handler = [](const Json& arguments) { return ok(arguments); }},
      {.name = "slow",
       .handler =
           [](const Json&, const ToolContext& context) {
             context.report_progress("half");
             nap(3);
             return ok("slow");
           }},
      {.name = "throws", .handler = [](const Json&) -> ToolOutcome { throw std::runtime_error("thrown"); }},
      {.name = "stubborn",
       .handler =
           [](const Json&) {
             nap(12);
             return ok("late");
           },
       .timeout = milliseconds(2)},
      {.name = "polite", .handler = wait_for_stop, .timeout = milliseconds(4)},
      {.name = "later",
       .handler = [late](const Json&, const ToolContext&, ToolCompletion done) { late->keep(done); },
       .timeout = milliseconds(20)},
      {.name = "asks", .handler = [](const Json&) { return ask_user("which?", {{"a", 1}}); }},
      {.name = "halts", .handler = [](const Json&) { return halt("enough", 1); }},
      {.name = "fails", .handler = [](const Json&) { return failure("no"); }},
      {.name = "by_hand", .manual = true},
      {.name = "gated", .handler = [](const Json&) { return ok("allowed"); }},
  };
}

// --- The model ---

FakeCallScript random_answer(const Request& request) {
  Random& random = own_random();
  FakeCallScript script;
  if (chance(random, 30)) return {fake_preflight_error(AdapterError::Reason::rate_limited)};
  if (chance(random, 6)) script.push_back(fake_delay(milliseconds(1)));
  if (chance(random, 4)) script.push_back(fake_reasoning("let me think"));
  for (std::size_t i = below(random, 4); i > 0; --i) script.push_back(fake_text("some text "));
  if (chance(random, 20)) {
    script.push_back(fake_error(AdapterError::Reason::network_error));
    return script;
  }
  if (request.tools.empty() || chance(random, 2)) {
    script.push_back(fake_text(request.response_format ? R"({"a":1})" : "done"));
    script.push_back(fake_finish(chance(random, 10) ? FinishReason::length : FinishReason::stop));
    return script;
  }
  for (std::size_t i = 1 + below(random, 4); i > 0; --i) {
    const std::string& name = request.tools[below(random, request.tools.size())].name;
    script.push_back(fake_tool_call("c" + std::to_string(random()), chance(random, 40) ? "unknown" : name));
  }
  script.push_back(fake_finish(FinishReason::tool_calls));
  return script;
}

// --- The server ---

std::string chunk(const std::string& delta, const std::string& finish) {
  return "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":" + delta +
         ",\"finish_reason\":" + finish + "}]}\n\n";
}

void answer_with_text(testing::Reply& reply, bool slowly) {
  reply.begin(200, "text/event-stream");
  for (int i = 0; i < 5; ++i) {
    reply.chunk(chunk(R"({"content":"word "})", "null"));
    if (slowly) nap(2);
  }
  reply.chunk(chunk("{}", "\"stop\"") + "data: [DONE]\n\n");
  reply.end();
}

void answer_with_fault(testing::Reply& reply) {
  switch (own_random()() % 7) {
    case 0:
      return reply.send(500, "application/json", R"({"error":{"message":"broken"}})");
    case 1:
      return reply.send(429, "application/json", R"({"error":{"message":"slow down"}})");
    case 2:
      return reply.cut();
    case 3:
      reply.begin(200, "text/event-stream");
      reply.chunk(chunk(R"({"content":"half "})", "null"));
      return reply.cut();
    case 4:
      return reply.send(200, "text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n");
    case 5:
      return reply.send(200, "text/html", "<html>");
    default:
      while (!reply.gone()) nap(2);
  }
}

}  // namespace

void fail(std::string_view what, std::string_view detail) {
  std::cerr << "soak: " << what << (detail.empty() ? "" : ": ") << detail << std::endl;
  std::abort();
}

ServerAddress start_server(bool tls) {
  auto* const server = new testing::HttpServer(
      [](const testing::ServedRequest&, testing::Reply& reply) {
        if (chance(own_random(), 3)) return answer_with_fault(reply);
        answer_with_text(reply, chance(own_random(), 2));
      },
      {.tls = tls});
  return {server->url(), tls ? server->ca_file() : ""};
}

std::vector<Tool> worker_tools() {
  return {{.name = "in_worker",
           .handler =
               [](const Json& arguments) {
                 if (arguments.value("hang", false)) std::this_thread::sleep_for(std::chrono::hours(1));
                 return ok("from the worker");
               },
           .timeout = milliseconds(300),
           .lane = Lane::worker}};
}

std::string Shelf::take(Random& random) {
  const std::lock_guard lock(mutex_);
  if (sessions_.empty()) return "";
  std::swap(sessions_[below(random, sessions_.size())], sessions_.back());
  std::string taken = std::move(sessions_.back());
  sessions_.pop_back();
  return taken.size() > kMaxBytes ? "" : taken;
}

void Shelf::put(Random& random, std::string session) {
  const std::lock_guard lock(mutex_);
  sessions_.push_back(std::move(session));
  if (sessions_.size() > 200) sessions_.erase(sessions_.begin() + static_cast<std::ptrdiff_t>(below(random, 100)));
}

World::World(const ServerAddress& server) : telemetry_(std::make_shared<CountingTelemetry>()), tools_(thread_tools()) {
  tools_.push_back(agent_tool(Engine({.adapter = fake(random_answer), .tools = thread_tools()}),
                              {.name = "agent", .options = {.max_turns = 2}}));
  const std::vector<std::shared_ptr<Runtime>> runtimes{
      Runtime::process(), Runtime::create({.max_threads = 32, .max_set_aside = 16}), Runtime::create()};
  for (const auto& runtime : runtimes) {
    models_.push_back(model_on(runtime));
    https_.emplace_back(EngineOptions{.adapter = openai({.base_url = server.url + "/v1",
                                                         .endpoint = OpenAiOptions::Endpoint::chat,
                                                         .api_key = "sk-soak",
                                                         .http = {.ca_file = server.ca_file}}),
                                      .model = "gpt-4.1",
                                      .retry = {.base_delay = milliseconds(1), .jitter = milliseconds(0)},
                                      .telemetry = telemetry_,
                                      .runtime = runtime});
  }
  models_.push_back(fallback({models_[0], models_[1]}));
  std::vector<Tool> outside = worker_tools();
  outside.push_back({.name = "command", .timeout = milliseconds(300), .command = Command{.argv = {"echo", "hello"}}});
  lanes_.emplace(EngineOptions{.adapter = fake(random_answer), .tools = outside, .telemetry = telemetry_});
}

Engine World::model_on(const std::shared_ptr<Runtime>& runtime) const {
  return Engine({.adapter = fake(random_answer),
                 .tools = tools_,
                 .retry = {.base_delay = milliseconds(1), .jitter = milliseconds(0)},
                 .telemetry = telemetry_,
                 .runtime = runtime});
}

std::size_t World::running_handlers() const {
  std::size_t running = lanes_->runtime()->stats().running;
  for (const Engine& engine : models_) running += engine.runtime()->stats().running;
  for (const Engine& engine : https_) running += engine.runtime()->stats().running;
  return running;
}

Engine World::on_new_runtime() const { return model_on(Runtime::create({.max_threads = 8})); }

}  // namespace allm::soak
