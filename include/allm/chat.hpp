// Running models: one call, one step, or the whole loop; folded, or as a stream of events. The
// folded form of each is the finish() of its stream, so both give equal results.
#pragma once

#include "allm/collector.hpp"
#include "allm/engine.hpp"
#include "allm/options.hpp"
#include "allm/request.hpp"
#include "allm/result.hpp"
#include "allm/result_stream.hpp"
#include "allm/stream.hpp"

namespace allm {

// One model call; runs no tools. A failure after the message has begun is in the response
// (finish_reason error, `error`); before that it is returned. Blocks.
Result<Response> generate(const Engine& engine, Request request, const CallOptions& options = default_options());
ResponseStream stream_generate(const Engine& engine, Request request, const CallOptions& options = default_options());

// One model call and the tools it asks for. Blocks.
Result<StepResult> step(const Engine& engine, Thread thread, const CallOptions& options = default_options());
StepStream stream_step(const Engine& engine, Thread thread, const CallOptions& options = default_options());

// Steps until there is an answer, a question for the user or a reason to stop. An error in the
// first step is returned; a later one ends the run with halted_reason "error" and what was done
// until then. Blocks.
Result<ChatResult> chat(const Engine& engine, Thread thread, const CallOptions& options = default_options());
ChatStream stream(const Engine& engine, Thread thread, const CallOptions& options = default_options());

}  // namespace allm
