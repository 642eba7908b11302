// The engine: a model, tools and settings, put together once and used for many runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allm/adapter.hpp"
#include "allm/approval.hpp"
#include "allm/executor.hpp"
#include "allm/model.hpp"
#include "allm/options.hpp"
#include "allm/retry.hpp"
#include "allm/runtime.hpp"
#include "allm/telemetry.hpp"
#include "allm/tool.hpp"

namespace allm {

struct EngineOptions {
  // How the model is reached. Calls on an engine without one fail with `missing_adapter`.
  std::shared_ptr<Adapter> adapter = nullptr;
  std::optional<ModelRef> model = std::nullopt;
  std::vector<Tool> tools = {};
  std::shared_ptr<ToolExecutor> tool_executor = nullptr;             // default: DefaultToolExecutor
  std::shared_ptr<ToolResultEncoder> tool_result_encoder = nullptr;  // default: JsonToolResultEncoder
  ApprovalGate approve = nullptr;                                    // of every run that has none of its own
  // Options of every call and request that leaves them out. Tools in it are added to `tools`.
  CallOptions defaults = {};
  // Settings for the provider, by its own names: {"top_p": 0.9}. Names of allm's options are read as such where
  // `defaults` leaves them out, for settings that come from a file: {"temperature": 0.2, "max_turns": 4}; only the
  // event filters are ignored here. A name that is nearly an option of allm is an error that says which was meant.
  Json params = empty_object();
  Json context = empty_object();  // for handlers, where neither call nor session has one
  RetryPolicy retry = RetryPolicy::standard();
  std::shared_ptr<Telemetry> telemetry = nullptr;
  std::shared_ptr<const Catalogue> catalogue = nullptr;  // for capability checks and costs
  std::shared_ptr<Runtime> runtime = nullptr;            // default: Runtime::process()
  // Check tool arguments against their schemas; a tool can opt out on its own.
  bool validate_arguments = true;
  Json metadata = empty_object();
};

// An immutable value: copying it copies a pointer, and copies may be used from any thread. A moved-from engine is one
// without an adapter, as Engine() is.
class Engine {
 public:
  Engine();  // without an adapter; good for the tool runner alone
  explicit Engine(EngineOptions options);

  // Positive and unique in the process; copies and derived engines keep it.
  std::uint64_t id() const;
  const std::shared_ptr<Adapter>& adapter() const;
  const std::optional<ModelRef>& model() const;
  const std::vector<Tool>& tools() const;
  const Json& params() const;
  const Json& context() const;
  const Json& metadata() const;
  const std::shared_ptr<Telemetry>& telemetry() const;
  const std::shared_ptr<Runtime>& runtime() const;

  // The options it was made from, to derive another engine:
  //   auto options = engine.options(); options.model = "other"; Engine other(options);
  EngineOptions options() const;
  // An engine that differs in one respect and keeps the id.
  Engine with_adapter(std::shared_ptr<Adapter> adapter) const;
  Engine with_tools(std::vector<Tool> tools) const;
  Engine with_model(ModelRef model) const;
  Engine with_params(Json params) const;
  // The tools of `defaults` are added to those of this engine.
  Engine with_defaults(CallOptions defaults) const;
  Engine with_context(Json context) const;

 private:
  friend class EngineAccess;
  class Impl;
  explicit Engine(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// An engine without an adapter: what the tool runner uses where none is given.
const Engine& default_engine();

}  // namespace allm
