// fallback: uses another model if one is unavailable.
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
  // For this time after a failure, an engine is tried only after all others. If the provider asked for a longer wait,
  // that wait is used instead.
  std::chrono::milliseconds cooldown{30'000};
  // The clock of the cooldown, for tests. Default: std::chrono::steady_clock. Called from any thread; must not throw.
  std::function<std::chrono::steady_clock::time_point()> now = nullptr;

  static std::vector<AdapterError::Reason> default_reasons();
};

// Returns an engine whose model calls go to the first of `engines` that answers. Each engine makes its calls with its
// own adapter, model, key, retries, catalogue, telemetry and model settings (temperature, max_tokens, prompt_cache and
// provider settings of its params). Tools, gate, limits and everything else are those of the first engine. A `model` or
// `api_key` in the call options is for the first engine only; other settings in the call options are for all.
//
// If the call of an engine still fails after its own retries, and its message has not begun, the next engine is tried.
// So a message never comes from two models. Each model call chooses an engine anew, so the steps of a run may use
// different engines. Copies of the returned engine share the record of failures. If `engines` is empty, the returned
// engine has no adapter. If all engines fail, the error is that of the last engine that was tried; its metadata has
// {"fallback": {"failed": [{"engine", "provider", "reason"}]}}.
//
// Response::metadata has {"fallback": {"engine": index, "provider", "model", "failed": […]}}.
Engine fallback(std::vector<Engine> engines, FallbackOptions options = {});

}  // namespace allm
