// Runs a model: one call (generate), one step (step) or the whole loop (chat). Each exists in two forms. The folded
// form blocks and returns the result. The stream form returns a stream of events at once; the run proceeds while the
// stream is read. The folded form is finish() of the stream, so both give equal results.
//
// Safe to call from any thread. Engine and options are copied, so that they need not outlive a stream. Callbacks of the
// options run on the consumer's thread: the thread that calls the folded form or reads the stream. A stream shows a
// failure as an ErrorEvent, and its finish() returns it.
//
// A run starts from a thread or from a request (messages and settings in one value). Each setting comes from the call
// options, then from the request, then from the engine, then from its default. Tools of all three are merged by name: a
// tool of the call options replaces one of the request, which replaces one of the engine. The settings and the metadata
// of a request apply to all steps of the run. Write the name of the type, chat(engine, Request{.messages = …}): without
// it the call is ambiguous for g++ 12.
#pragma once

#include <string>

#include "allm/collector.hpp"
#include "allm/engine.hpp"
#include "allm/options.hpp"
#include "allm/request.hpp"
#include "allm/result.hpp"
#include "allm/result_stream.hpp"
#include "allm/stream.hpp"
#include "allm/structured.hpp"

namespace allm {

// One model call; runs no tools. A failure after the message has begun is in the response (finish_reason error,
// `error`); before that it is returned. If the request has tools, the engine's tools are not sent. Blocks.
Result<Response> generate(const Engine& engine, Request request, const CallOptions& options = default_options());
ResponseStream stream_generate(const Engine& engine, Request request, const CallOptions& options = default_options());

// One model call and the tool calls that it asks for. Blocks.
Result<StepResult> step(const Engine& engine, Thread thread, const CallOptions& options = default_options());
Result<StepResult> step(const Engine& engine, Request request, const CallOptions& options = default_options());
StepStream stream_step(const Engine& engine, Thread thread, const CallOptions& options = default_options());
StepStream stream_step(const Engine& engine, Request request, const CallOptions& options = default_options());

// Runs steps until there is an answer, a question for the user or another reason to stop (allm/end.hpp). An error in
// the first step is returned; an error in a later step ends the run with halted_reason "error", and the result has the
// steps before it. Blocks.
Result<ChatResult> chat(const Engine& engine, Thread thread, const CallOptions& options = default_options());
Result<ChatResult> chat(const Engine& engine, Request request, const CallOptions& options = default_options());
ChatStream stream(const Engine& engine, Thread thread, const CallOptions& options = default_options());
ChatStream stream(const Engine& engine, Request request, const CallOptions& options = default_options());

// The answer to one question, as text: chat() with one user message, then unwrap(). Fails if the run ends without a
// complete answer. Blocks.
Result<std::string> ask(const Engine& engine, Content question, const CallOptions& options = default_options());

}  // namespace allm
