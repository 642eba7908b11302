#include "allm/fallback.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/chat.hpp"

#include "engine/engine_impl.hpp"

namespace allm {
namespace {

using Clock = std::chrono::steady_clock;

// Whether the setting belongs to the model and not to the run.
bool is_model_setting(const Engine& engine, const std::string& name) {
  constexpr std::array<std::string_view, 5> kNames = {"model", "temperature", "max_tokens", "prompt_cache", "stream"};
  return std::ranges::find(kNames, name) != kNames.end() ||
         EngineAccess::impl(engine).params->options.params.contains(name);
}

// The engine's params that are settings of the model, or the other ones.
Json params_of(const Engine& engine, bool of_model) {
  const Json& params = engine.params();
  if (!params.is_object()) return params;
  Json chosen = Json::object();
  for (const auto& [name, value] : params.items()) {
    if (is_model_setting(engine, name) == of_model) chosen[name] = value;
  }
  return chosen;
}

// The defaults that are settings of the model.
CallOptions model_defaults(const CallOptions& defaults) {
  return {.model = defaults.model,
          .temperature = defaults.temperature,
          .max_tokens = defaults.max_tokens,
          .prompt_cache = defaults.prompt_cache,
          .stream = defaults.stream,
          .params = defaults.params,
          .api_key = defaults.api_key};
}
CallOptions without_model_defaults(CallOptions defaults) {
  defaults.model.reset();
  defaults.temperature.reset();
  defaults.max_tokens.reset();
  defaults.prompt_cache.reset();
  defaults.stream.reset();
  defaults.params = Json::object();
  defaults.api_key = {};
  return defaults;
}

// A copy of the engine, with the same id, that is used only for model calls.
Engine model_engine(const Engine& engine) {
  const CallOptions& defaults = EngineAccess::impl(engine).options.defaults;
  return engine.with_defaults(model_defaults(defaults)).with_tools({}).with_params(params_of(engine, true));
}

// One engine, and until when it counts as failed. Safe to call from any thread.
struct Candidate {
  explicit Candidate(const Engine& made) : engine(model_engine(made)) {}
  const Engine engine;
  std::atomic<Clock::time_point> failed_until{Clock::time_point::min()};

  std::string provider() const { return engine.adapter() ? std::string(engine.adapter()->provider()) : ""; }
};

// Shared by all calls. May outlive the engine while one of its streams is read.
struct Candidates {
  Candidates(const std::vector<Engine>& engines, FallbackOptions how) : options(std::move(how)) {
    for (const Engine& engine : engines) list.push_back(std::make_unique<Candidate>(engine));
  }
  Clock::time_point now() const { return options.now ? options.now() : Clock::now(); }
  // The engines' indices; engines that failed recently come last.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> indices;
    const Clock::time_point time = now();
    for (const bool failed : {false, true}) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        if ((list[i]->failed_until.load() > time) == failed) indices.push_back(i);
      }
    }
    return indices;
  }
  bool falls_back(const Error& error) const {
    const auto* adapter = error.get_if<AdapterError>();
    return adapter != nullptr && std::ranges::find(options.on, adapter->reason) != options.on.end();
  }
  void note_failure(std::size_t index, const Error& error) const {
    const std::chrono::milliseconds asked(error.get_if<AdapterError>()->retry_after_ms.value_or(0));
    constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24);
    list[index]->failed_until = now() + std::max(options.cooldown, std::min(asked, kLongest));
  }

  FallbackOptions options;
  std::vector<std::unique_ptr<Candidate>> list;
};

Error with_failures(const Error& error, const Json& failed) {
  Json metadata = error.metadata();
  metadata["fallback"] = {{"failed", failed}};
  return std::visit(
      [&](const auto& detail) { return Error(detail, error.message(), metadata, error.reported_cause()); },
      error.detail());
}

class FallbackSource : public EventSource {
 public:
  FallbackSource(std::shared_ptr<const Candidates> candidates, const AdapterCall& call)
      : candidates_(std::move(candidates)), call_(call), order_(candidates_->order()) {
    open();
  }

  Poll poll(const Waker& waker) override {
    while (true) {
      Poll polled = events_.poll(waker);
      if (!polled.has_event()) return polled;
      const auto* failed = polled.event().get_if<ErrorEvent>();
      if (failed != nullptr && !begun_) {
        const Error error = failed->error;
        if (fails_over(error)) continue;
        return ErrorEvent{with_failures(error, failed_)};
      }
      if (!begun_) {
        begun_ = true;
        candidates_->list[index()]->failed_until = Clock::time_point::min();
      }
      if (auto* completed = polled.event().get_if<MessageCompleted>()) completed->metadata["fallback"] = facts();
      return polled;
    }
  }

 private:
  std::size_t index() const { return order_[next_]; }

  void open() {
    const Engine& engine = candidates_->list[index()]->engine;
    CallOptions options;
    options.request_id = call_.request_id;
    options.session_id = call_.session_id;
    options.include_raw_chunks = call_.include_raw_chunks;
    options.budget = call_.budget;
    if (call_.trace.span_id.is_set()) options.traceparent = to_string(call_.trace);
    if (index() == 0) {
      options.model = call_.model;
      options.api_key = call_.api_key;
    }
    Request request = call_.request;
    request.model.reset();
    request.options = call_.options;
    events_ = stream_generate(engine, std::move(request), options);
  }

  // Records the failure and opens the next engine's call; false if there is no next engine.
  bool fails_over(const Error& error) {
    const bool falls_back = candidates_->falls_back(error);
    if (falls_back) candidates_->note_failure(index(), error);
    failed_.push_back({{"engine", index()},
                       {"provider", candidates_->list[index()]->provider()},
                       {"reason", std::string(error.reason())}});
    if (!falls_back || next_ + 1 == order_.size()) return false;
    ++next_;
    open();
    return true;
  }

  Json facts() const {
    const Candidate& candidate = *candidates_->list[index()];
    Json facts = {{"engine", index()}, {"provider", candidate.provider()}};
    if (index() == 0 && call_.model) {
      facts["model"] = call_.model->id;
    } else if (candidate.engine.model()) {
      facts["model"] = candidate.engine.model()->id;
    }
    if (!failed_.empty()) facts["failed"] = failed_;
    return facts;
  }

  std::shared_ptr<const Candidates> candidates_;
  const AdapterCall call_;
  const std::vector<std::size_t> order_;
  std::size_t next_ = 0;  // index in `order_`
  EventStream events_;
  Json failed_ = Json::array();
  bool begun_ = false;
};

class FallbackAdapter : public Adapter {
 public:
  explicit FallbackAdapter(std::shared_ptr<const Candidates> candidates) : candidates_(std::move(candidates)) {}
  std::string_view provider() const override { return "fallback"; }
  bool calls_engines() const override { return true; }
  Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) override {
    return std::make_unique<FallbackSource>(candidates_, call);
  }

 private:
  std::shared_ptr<const Candidates> candidates_;
};

}  // namespace

std::vector<AdapterError::Reason> FallbackOptions::default_reasons() {
  return {AdapterError::Reason::rate_limited, AdapterError::Reason::provider_unavailable, AdapterError::Reason::timeout,
          AdapterError::Reason::network_error};
}

Engine fallback(std::vector<Engine> engines, FallbackOptions options) {
  if (engines.empty()) return Engine();
  EngineOptions made = engines.front().options();
  made.adapter = std::make_shared<FallbackAdapter>(std::make_shared<const Candidates>(engines, std::move(options)));
  made.model.reset();
  made.params = params_of(engines.front(), false);
  made.defaults = without_model_defaults(std::move(made.defaults));
  // Each engine retries, checks capabilities and calculates costs itself.
  made.retry = RetryPolicy::off();
  made.catalogue = nullptr;
  return Engine(std::move(made));
}

}  // namespace allm
