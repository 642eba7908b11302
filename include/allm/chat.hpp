// Runs a model: one call (generate), one step (step) or the whole loop (chat). Each exists in two forms. The folded
// form blocks and returns the result. The stream form returns a stream of events at once; the run proceeds while the
// stream is read. The folded form is finish() of the stream, so both give equal results.
//
// All functions are safe to call from any thread. Engine and options are copied, so they need not outlive a stream.
// Callbacks of the options run on the consumer's thread: the thread that calls the folded form or reads the stream. If
// a run fails, its stream has an ErrorEvent, and finish() returns the error.
//
// A run starts from a thread or from a request (messages and settings in one value). Each setting comes from the call
// options, then from the request, then from the engine, then from its default. Tools of all three are merged by name: a
// tool of the call options replaces one of the request, which replaces one of the engine. (generate is an exception;
// see there.) The settings and the metadata of a request apply to all steps of the run. Write the type of a request in
// the call, chat(engine, Request{.messages = …}): without it the call is ambiguous for g++ 12.
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

// Makes one model call and runs no tools. A failure before the message has begun is returned. A failure after that is
// in the response: `finish_reason` is error, and `error` is set. If the request has tools, the engine's tools are not
// sent. generate blocks.
Result<Response> generate(const Engine& engine, Request request, const CallOptions& options = default_options());
ResponseStream stream_generate(const Engine& engine, Request request, const CallOptions& options = default_options());

// Makes one model call and runs the tool calls that the model asks for. step blocks.
Result<StepResult> step(const Engine& engine, Thread thread, const CallOptions& options = default_options());
Result<StepResult> step(const Engine& engine, Request request, const CallOptions& options = default_options());
StepStream stream_step(const Engine& engine, Thread thread, const CallOptions& options = default_options());
StepStream stream_step(const Engine& engine, Request request, const CallOptions& options = default_options());

// Runs steps until there is an answer, a question for the user or another reason to stop (allm/end.hpp). An error in
// the first step is returned. An error in a later step ends the run with halted_reason "error", and the result has the
// steps before it. chat blocks; stream is its stream form.
Result<ChatResult> chat(const Engine& engine, Thread thread, const CallOptions& options = default_options());
Result<ChatResult> chat(const Engine& engine, Request request, const CallOptions& options = default_options());
ChatStream stream(const Engine& engine, Thread thread, const CallOptions& options = default_options());
ChatStream stream(const Engine& engine, Request request, const CallOptions& options = default_options());

// The answer to one question, as text: chat() with one user message, then unwrap(). Fails if the run ends without a
// complete answer. Blocks.
Result<std::string> ask(const Engine& engine, Content question, const CallOptions& options = default_options());

}  // namespace allm
