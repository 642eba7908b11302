// The conformance suite: checks that an adapter, executor or encoder of your own keeps the promises of
// allm/adapter.hpp, allm/stream.hpp and allm/executor.hpp. Independent of any test framework.
//
//   const auto report = allm::check_adapter([] { return std::make_shared<MyAdapter>(); });
//   if (!report.passed()) std::cerr << report.summary();
//
// Each function blocks until all its checks are done. Checks run on threads of their own, because the checked code may
// block for ever: a call that does not return is reported, and its thread and the object that it uses are leaked.
// docs/conformance.md explains every check.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/adapter.hpp"
#include "allm/executor.hpp"

namespace allm {

struct ConformanceCheck {
  enum class Outcome : std::uint8_t { passed, failed, skipped };
  std::string name = {};
  Outcome outcome = Outcome::passed;
  // What is wrong and what to do; for a skipped check, the option that it needs. Empty if it passed.
  std::string message = {};
};

struct ConformanceReport {
  std::string subject = {};  // the adapter's provider name, "executor" or "encoder"
  std::vector<ConformanceCheck> checks = {};

  // Whether no check failed.
  bool passed() const;
  // The check of that name, or null.
  const ConformanceCheck* find(std::string_view name) const;
  // A line for each check that failed or was skipped, and one with the counts.
  std::string summary() const;
};

struct AdapterConformanceOptions {
  // A request that the model answers with text.
  Request request = {.messages = {user("Say hello.")}};
  // A request that the model answers with at least one tool call. Without it, the checks of tool calls are skipped.
  std::optional<Request> tool_request = std::nullopt;
  // A request that fails: open() returns an error, or the source produces an ErrorEvent. Without it, the checks of
  // errors are skipped.
  std::optional<Request> failing_request = std::nullopt;
  // The next three are copied into each AdapterCall.
  std::optional<ModelRef> model = std::nullopt;
  ApiKey api_key = {};
  Json options = empty_object();
  // How long open(), poll() or a destructor may take. None of them may wait; the limit is generous only because the
  // machine may be busy.
  std::chrono::milliseconds max_blocking = std::chrono::seconds(2);
  // How long a source may take to call the waker after it has returned pending.
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  // How many calls are open at once in the check of concurrent calls.
  std::size_t threads = 4;
  // Null: Runtime::process().
  std::shared_ptr<Runtime> runtime = nullptr;
};

// Checks an adapter. `factory` makes one; it is called once for each group of checks, so that a scripted adapter starts
// at the beginning of its script. It is called on several threads, but never at the same time.
ConformanceReport check_adapter(std::function<std::shared_ptr<Adapter>()> factory,
                                const AdapterConformanceOptions& options = {});

struct ExecutorConformanceOptions {
  // Whether the executor calls the handlers of its tools. If it runs tools elsewhere, set this to false and fill
  // `calls`; the checks that need handlers are then skipped.
  bool runs_handlers = true;
  // Calls that the executor can run.
  struct Call {
    Tool tool = {};
    Json arguments = empty_object();
  };
  std::vector<Call> calls = {};
  // How long a call may take.
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  // How many calls run at once in the check of concurrent calls.
  std::size_t concurrency = 8;
};

ConformanceReport check_executor(std::shared_ptr<ToolExecutor> executor,
                                 const ExecutorConformanceOptions& options = {});

struct EncoderConformanceOptions {
  // Results to encode, in addition to those of the suite.
  std::vector<Json> values = {};
  // How many threads encode at once.
  std::size_t threads = 4;
};

ConformanceReport check_encoder(std::shared_ptr<ToolResultEncoder> encoder,
                                const EncoderConformanceOptions& options = {});

}  // namespace allm
