// Ready-made hooks for the option `prepare_step` that shorten a long conversation for the model. The stored thread
// keeps everything. No hook separates a tool call from its result or removes a system message. Runs on several threads
// may share a hook.
//
//   options.prepare_step = allm::then(allm::drop_old_tool_results(50'000), allm::keep_last(40));
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "allm/engine.hpp"
#include "allm/options.hpp"
#include "allm/prepare_step.hpp"

namespace allm {

// Sends the last `count` messages, and more if that is necessary to keep calls with their results. If they do not begin
// with a user message, the last user message before them stays too, so that the model has its task.
PrepareStep keep_last(std::size_t count);

// Replaces the content of tool messages by a short note, the oldest first, until all results together take at most
// `bytes`. Results that the model has not seen yet (those after the last assistant message) stay.
PrepareStep drop_old_tool_results(std::size_t bytes);

// A conversation is summarised when the messages for the model exceed one of these limits.
struct CompactWhen {
  std::optional<std::size_t> over_bytes = std::nullopt;   // of text, arguments and results
  std::optional<std::size_t> over_tokens = std::nullopt;  // estimated: four bytes are a token
};

struct CompactOptions {
  // At least this many messages at the end are not summarised, because the model needs the details of its current work.
  std::size_t keep_last = 8;
  // The instructions for the summarising model.
  std::string instructions =
      "Summarise the conversation below for the assistant that will continue it. Keep the task, decisions, facts, "
      "names, numbers and open questions. Leave out greetings and repetition. Answer with the summary alone.";
  // How many summaries the hook keeps, so that a summary is made once and not in each step. Copies of the hook share
  // them.
  std::size_t remembered = 64;
};

// Replaces older messages by a summary that the model of `engine` writes. The stop tokens and the deadline of the run
// apply to this model call, and its usage counts in the run's usage and limits. Waiting for the summary blocks no
// thread. If the model call fails, the step fails with its error.
PrepareStep compact(CompactWhen when, Engine engine, CompactOptions options = {});

// Calls `first`, then `second` with the messages of `first`. A setting of `second` replaces that of `first`.
PrepareStep then(PrepareStep first, PrepareStep second);

// Options for a model call that a hook makes itself: the stop tokens, the time that is left, the ids and the trace
// of the run.
CallOptions call_options_for(const StepView& step);

}  // namespace allm
