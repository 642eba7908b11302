// The engine: a model, tools and settings, combined once and used for many runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allm/adapter.hpp"
#include "allm/approval.hpp"
#include "allm/executor.hpp"
#include "allm/limits.hpp"
#include "allm/model.hpp"
#include "allm/options.hpp"
#include "allm/retry.hpp"
#include "allm/runtime.hpp"
#include "allm/telemetry.hpp"
#include "allm/tool.hpp"

namespace allm {

struct EngineOptions {
  // The connection to the model. Runs of an engine without an adapter fail with EngineError `missing_adapter`.
  std::shared_ptr<Adapter> adapter = nullptr;
  std::optional<ModelRef> model = std::nullopt;
  std::vector<Tool> tools = {};
  std::shared_ptr<ToolExecutor> tool_executor = nullptr;             // default: each tool runs in its own lane
  std::shared_ptr<ToolResultEncoder> tool_result_encoder = nullptr;  // default: JsonToolResultEncoder
  ApprovalGate approve = nullptr;                                    // for runs whose options have no gate
  // Options for every run whose call options and request do not set them. `defaults.tools` are added to `tools`.
  CallOptions defaults = {};
  // Settings for the provider, by its own names: {"top_p": 0.9}. Names of allm's own options set those options if
  // `defaults` does not ({"temperature": 0.2, "max_turns": 4}: useful for settings from a file). Only the event filters
  // (emit_… and include_raw_chunks) are ignored here. If a name is nearly that of an option, every run fails with an
  // error that names the option.
  Json params = empty_object();
  Json context = empty_object();  // for handlers, if neither the call nor the session has a context
  RetryPolicy retry = RetryPolicy::standard();
  std::shared_ptr<Telemetry> telemetry = nullptr;
  // For capability checks and costs. Without it, allm computes no costs and checks only ModelRef::capabilities.
  std::shared_ptr<const Catalogue> catalogue = nullptr;
  std::shared_ptr<Runtime> runtime = nullptr;  // default: Runtime::process()
  // Whether tool arguments are checked against the schema of the tool. Tool::validate_arguments = false switches the
  // check off for one tool.
  bool validate_arguments = true;
  // The number and the size of the tool calls in one answer of the model, so that a hostile server cannot use up memory
  // and time.
  AnswerLimits answer_limits = {};
  Json metadata = empty_object();
};

// An immutable value. Copying copies a pointer; copies share ownership of adapter, executor, encoder, telemetry and
// runtime, and may be used from any thread. The constructor does not check the options: runs do, and fail before the
// first model call. A moved-from engine is like Engine(): it has no adapter.
class Engine {
 public:
  Engine();  // without an adapter; enough for the tool runner
  explicit Engine(EngineOptions options);

  // Positive and unique in the process. Copies and the engines of with_…() have the same id; an engine made from
  // options() has a new one.
  std::uint64_t id() const;
  const std::shared_ptr<Adapter>& adapter() const;
  const std::optional<ModelRef>& model() const;
  const std::vector<Tool>& tools() const;
  const Json& params() const;
  const Json& context() const;
  const Json& metadata() const;
  const std::shared_ptr<Telemetry>& telemetry() const;
  const std::shared_ptr<Runtime>& runtime() const;

  // The options of this engine, to make another one:
  //   auto options = engine.options(); options.model = "other"; Engine other(options);
  EngineOptions options() const;
  // Each returns an engine with one option changed and the same id.
  Engine with_adapter(std::shared_ptr<Adapter> adapter) const;
  Engine with_tools(std::vector<Tool> tools) const;
  Engine with_model(ModelRef model) const;
  Engine with_params(Json params) const;
  // The engine also gets `defaults.tools`, in addition to the tools of this engine.
  Engine with_defaults(CallOptions defaults) const;
  Engine with_context(Json context) const;

 private:
  friend class EngineAccess;
  class Impl;
  explicit Engine(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// An engine without an adapter: the default argument of the tool runner.
const Engine& default_engine();

}  // namespace allm
