// Adapters: how a model is reached. Implement one to bring your own model.
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

// One model call, fully resolved: options over request over engine over default.
struct AdapterCall {
  Request request = {};                          // tools without handlers; compact ones in short form
  std::optional<ModelRef> model = std::nullopt;  // what to call; null if nobody named one
  std::string request_id = {};
  std::optional<std::string> session_id = std::nullopt;
  // Everything else that call options and engine params say, by name. Never contains keys.
  Json options = empty_object();
  ApiKey api_key = {};  // of this call alone
  // Whether anybody wants to see RawChunk events; building them costs.
  bool include_raw_chunks = false;
  std::shared_ptr<Runtime> runtime = nullptr;
  // The span that the call belongs to, for adapters that report spans of their own. Not set without telemetry, unless
  // the caller gave a traceparent.
  TraceParent trace = {};
};

// Shared by every engine that uses it; open() is called from any thread. open() and its source must not throw; if they
// do, the call fails with AdapterError `unknown` and the exception's text as message.
class Adapter {
 public:
  virtual ~Adapter() = default;

  // A short name for messages and metadata: "openai".
  virtual std::string_view provider() const = 0;

  // Opens one model call. Must not block: a source that has to wait returns pending. The source
  // gives MessageStarted, the model's events and MessageCompleted; or an ErrorEvent, which ends it.
  // An error returned here, or an ErrorEvent before MessageStarted, is the failure of the call: it
  // may be retried by the engine's policy, and the folded functions return it.
  virtual Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) = 0;
};

}  // namespace allm
