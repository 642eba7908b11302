// Adapters connect the engine to a model. Implement one to use a model of your own; allm/conformance.hpp checks it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "allm/budget.hpp"
#include "allm/keys.hpp"
#include "allm/limits.hpp"
#include "allm/request.hpp"
#include "allm/runtime.hpp"
#include "allm/stream.hpp"
#include "allm/trace.hpp"

namespace allm {

// Something that an adapter did differently from what the call asks for, or an answer that contradicts itself.
struct AdapterWarning {
  // The setting that was left out of the request, by the provider's name; or the part of the answer: output_text,
  // arguments, name, reasoning, refusal.
  std::string setting = {};
  std::string message = {};  // for people
};

// One model call with all settings resolved: from the call options, then the request, the engine and the defaults.
struct AdapterCall {
  Request request = {};                          // its tools have no handlers; compact tools are in short form
  std::optional<ModelRef> model = std::nullopt;  // the model to call; nullopt if none was named
  std::string request_id = {};
  std::optional<std::string> session_id = std::nullopt;
  // All other settings of call options and engine params, by name. It never contains API keys.
  Json options = empty_object();
  ApiKey api_key = {};  // CallOptions::api_key; empty: the adapter uses its own key
  // Whether the program asked for RawChunk events. They need not be built otherwise.
  bool include_raw_chunks = false;
  // EngineOptions::answer_limits. The engine checks them, too; an adapter that knows them can stop earlier.
  AnswerLimits limits = {};
  std::shared_ptr<Runtime> runtime = nullptr;
  // The span of the call, for adapters that report spans of their own. Without telemetry it is
  // CallOptions::traceparent, or not set.
  TraceParent trace = {};
  // The budgets of the run, or null; for adapters whose calls_engines() is true.
  std::shared_ptr<BudgetLedger> budget = nullptr;
  // Reports a warning to telemetry. Empty if there is no telemetry. An adapter calls it only inside open() and inside
  // the source's poll().
  std::function<void(const AdapterWarning&)> warn = nullptr;
};

// Engines share ownership of an adapter. open() is called from any thread, several calls at once. open() and its source
// must not throw; if they do, the call fails with AdapterError `unknown` and the exception's text as message.
class Adapter {
 public:
  virtual ~Adapter() = default;

  // A short name for messages and metadata: "openai".
  virtual std::string_view provider() const = 0;

  // Whether the adapter makes its model calls with other engines. Then those engines reserve in the budgets, because
  // only they know the model: the adapter passes AdapterCall::budget on as CallOptions::budget.
  virtual bool calls_engines() const { return false; }

  // Opens one model call and returns the source of its events, which the caller owns. Must not block: a source that has
  // to wait returns pending. `call` is valid during open() only, so the source must copy what it needs. The source
  // produces MessageStarted, the model's events and MessageCompleted. If it fails, it produces an ErrorEvent and ends.
  // If open() returns an error, or if the ErrorEvent comes before MessageStarted, the call has failed: the engine may
  // retry it (allm/retry.hpp), and otherwise the run fails with this error.
  virtual Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) = 0;
};

}  // namespace allm
