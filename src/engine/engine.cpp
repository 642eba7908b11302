#include "allm/engine.hpp"

#include <atomic>
#include <utility>

#include "engine/engine_impl.hpp"

namespace allm {
namespace {

std::uint64_t next_engine_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

const std::shared_ptr<const ParamDefaults>& no_params() {
  static const auto* const none = new std::shared_ptr<const ParamDefaults>(std::make_shared<const ParamDefaults>());
  return *none;
}

std::shared_ptr<const ParamDefaults> defaults_of(const Json& params) {
  if (params.is_object() && params.empty()) return no_params();
  return std::make_shared<const ParamDefaults>(read_params(params));
}

std::shared_ptr<const EngineAccess::Impl> make_impl(EngineOptions options) {
  auto impl = std::make_shared<EngineAccess::Impl>();
  impl->id = next_engine_id();
  impl->runtime = options.runtime ? options.runtime : Runtime::process();
  impl->params = defaults_of(options.params);
  impl->tools = std::make_shared<const ToolSet>(std::move(options.tools));
  options.tools.clear();
  impl->options = std::move(options);
  return impl;
}

}  // namespace

const std::shared_ptr<const EngineAccess::Impl>& EngineAccess::empty() {
  static const auto* const empty = new std::shared_ptr<const Impl>(make_impl({}));
  return *empty;
}

Engine::Engine() : impl_(EngineAccess::empty()) {}

Engine::Engine(EngineOptions options) : impl_(make_impl(std::move(options))) {}

std::uint64_t Engine::id() const { return EngineAccess::impl(*this).id; }
const std::shared_ptr<Adapter>& Engine::adapter() const { return EngineAccess::impl(*this).options.adapter; }
const std::optional<ModelRef>& Engine::model() const { return EngineAccess::impl(*this).options.model; }
const std::vector<Tool>& Engine::tools() const { return EngineAccess::impl(*this).tools->tools(); }
const Json& Engine::params() const { return EngineAccess::impl(*this).options.params; }
const Json& Engine::context() const { return EngineAccess::impl(*this).options.context; }
const Json& Engine::metadata() const { return EngineAccess::impl(*this).options.metadata; }
const std::shared_ptr<Telemetry>& Engine::telemetry() const { return EngineAccess::impl(*this).options.telemetry; }
const std::shared_ptr<Runtime>& Engine::runtime() const { return EngineAccess::impl(*this).runtime; }

EngineOptions Engine::options() const {
  const Impl& impl = EngineAccess::impl(*this);
  EngineOptions options = impl.options;
  options.tools = impl.tools->tools();
  return options;
}

Engine Engine::with_tools(std::vector<Tool> tools) const {
  auto impl = std::make_shared<Impl>(EngineAccess::impl(*this));
  impl->tools = std::make_shared<const ToolSet>(std::move(tools));
  return Engine(std::move(impl));
}

Engine Engine::with_model(ModelRef model) const {
  auto impl = std::make_shared<Impl>(EngineAccess::impl(*this));
  impl->options.model = std::move(model);
  return Engine(std::move(impl));
}

Engine Engine::with_params(Json params) const {
  auto impl = std::make_shared<Impl>(EngineAccess::impl(*this));
  impl->params = defaults_of(params);
  impl->options.params = std::move(params);
  return Engine(std::move(impl));
}

Engine Engine::with_context(Json context) const {
  auto impl = std::make_shared<Impl>(EngineAccess::impl(*this));
  impl->options.context = std::move(context);
  return Engine(std::move(impl));
}

const Engine& default_engine() {
  static const auto* const engine = new Engine();
  return *engine;
}

}  // namespace allm
