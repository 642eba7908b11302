#include "allm/engine.hpp"

#include <atomic>
#include <utility>

#include "engine/engine_impl.hpp"
#include "engine/layered_options.hpp"

namespace allm {
namespace {

std::uint64_t next_engine_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// The options that a call leaves out come from the engine's defaults, then from its params.
std::shared_ptr<const ParamDefaults> read_defaults(const EngineOptions& options) {
  auto read = std::make_shared<ParamDefaults>(read_params(options.params));
  check_provider_params(options.defaults.params, *read);
  CallOptions merged = options.defaults;
  merged.tools.clear();  // they are in the engine's tool set
  fill_options(merged, std::move(read->options));
  read->options = std::move(merged);
  return read;
}

std::shared_ptr<const ToolSet> tool_set_of(std::vector<Tool> tools, const CallOptions& defaults) {
  auto set = std::make_shared<const ToolSet>(std::move(tools));
  return defaults.tools.empty() ? set : set->with(defaults.tools);
}

std::shared_ptr<const EngineAccess::Impl> make_impl(EngineOptions options) {
  auto impl = std::make_shared<EngineAccess::Impl>();
  impl->id = next_engine_id();
  impl->runtime = options.runtime ? options.runtime : Runtime::process();
  impl->params = read_defaults(options);
  impl->tools = tool_set_of(std::move(options.tools), options.defaults);
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

Engine Engine::with_adapter(std::shared_ptr<Adapter> adapter) const {
  auto impl = std::make_shared<Impl>(EngineAccess::impl(*this));
  impl->options.adapter = std::move(adapter);
  return Engine(std::move(impl));
}

Engine Engine::with_tools(std::vector<Tool> tools) const {
  auto impl = std::make_shared<Impl>(EngineAccess::impl(*this));
  impl->tools = tool_set_of(std::move(tools), impl->options.defaults);
  return Engine(std::move(impl));
}

Engine Engine::with_model(ModelRef model) const {
  auto impl = std::make_shared<Impl>(EngineAccess::impl(*this));
  impl->options.model = std::move(model);
  return Engine(std::move(impl));
}

Engine Engine::with_params(Json params) const {
  auto impl = std::make_shared<Impl>(EngineAccess::impl(*this));
  impl->options.params = std::move(params);
  impl->params = read_defaults(impl->options);
  return Engine(std::move(impl));
}

Engine Engine::with_defaults(CallOptions defaults) const {
  auto impl = std::make_shared<Impl>(EngineAccess::impl(*this));
  impl->options.defaults = std::move(defaults);
  impl->params = read_defaults(impl->options);
  if (!impl->options.defaults.tools.empty()) impl->tools = impl->tools->with(impl->options.defaults.tools);
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
