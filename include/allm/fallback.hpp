// fallback: another model when one is unavailable.
//
//   allm::Engine engine = allm::fallback({primary, secondary});
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "allm/engine.hpp"
#include "allm/error.hpp"

namespace allm {

struct FallbackOptions {
  // AdapterErrors after which the next engine is tried: rate_limited, provider_unavailable, timeout, network_error. A
  // wrong key or a refused request is not among them: the program should see such an error.
  std::vector<AdapterError::Reason> on = default_reasons();
  // How long an engine that failed is tried last. If the provider asked for a longer wait, that wait is used.
  std::chrono::milliseconds cooldown{30'000};
  // The time for the cooldown; default: std::chrono::steady_clock. For tests. Called from any thread; must not throw.
  std::function<std::chrono::steady_clock::time_point()> now = nullptr;

  static std::vector<AdapterError::Reason> default_reasons();
};

// An engine whose model calls go to the first of `engines` that answers. Each of them makes its calls with its own
// adapter, model, key, retries, catalogue, telemetry and model settings (temperature, max_tokens, prompt_cache and
// provider settings of its params). Tools, gate, limits and everything else are those of the first. A `model` or
// `api_key` of call options is for the first engine only; other settings of call options are for all.
//
// The next engine is tried when one fails, after its own retries and before its message has begun; a message never
// comes from two models. Each model call chooses an engine anew, so the steps of a run may use different engines.
// Copies of the engine share the record of failures. Without `engines`, the result is an engine without an adapter. If
// all fail, the error is that of the last; its metadata has {"fallback": {"failed": [{"engine", "provider",
// "reason"}]}}.
//
// Response::metadata has {"fallback": {"engine": index, "provider", "model", "failed": […]}}.
Engine fallback(std::vector<Engine> engines, FallbackOptions options = {});

}  // namespace allm
