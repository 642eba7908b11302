// Adapters connect the engine to a model. Implement one to use a model of your own; allm/conformance.hpp checks it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "allm/keys.hpp"
#include "allm/request.hpp"
#include "allm/runtime.hpp"
#include "allm/stream.hpp"
#include "allm/trace.hpp"

namespace allm {

// One model call with all settings resolved: from the call options, then the request, the engine and the defaults.
struct AdapterCall {
  Request request = {};                          // tools without handlers; compact ones in short form
  std::optional<ModelRef> model = std::nullopt;  // the model to call; nullopt if none was named
  std::string request_id = {};
  std::optional<std::string> session_id = std::nullopt;
  // All other settings of call options and engine params, by name. Never contains keys.
  Json options = empty_object();
  ApiKey api_key = {};  // of this call alone
  // Whether the program asked for RawChunk events. They need not be built otherwise.
  bool include_raw_chunks = false;
  std::shared_ptr<Runtime> runtime = nullptr;
  // The span that the call belongs to, for adapters that report spans of their own. Not set without telemetry, unless
  // the caller gave a traceparent.
  TraceParent trace = {};
};

// Engines share ownership of an adapter. open() is called from any thread, several calls at once. open() and its source
// must not throw; if they do, the call fails with AdapterError `unknown` and the exception's text as message.
class Adapter {
 public:
  virtual ~Adapter() = default;

  // A short name for messages and metadata: "openai".
  virtual std::string_view provider() const = 0;

  // Opens one model call. Must not block: a source that has to wait returns pending. `call` is valid during open()
  // only, so the source copies what it needs. The source produces MessageStarted, the model's events and
  // MessageCompleted; or an ErrorEvent, which ends it. An error returned here, or an ErrorEvent before MessageStarted,
  // is the failure of the call: it may be retried by the engine's policy, and the folded functions return it.
  virtual Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) = 0;
};

}  // namespace allm
