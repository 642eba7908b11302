#include "allm/chat.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "chat/chat_source.hpp"
#include "chat/finalize_source.hpp"
#include "chat/generate_source.hpp"
#include "chat/lone_step_source.hpp"
#include "chat/span_source.hpp"
#include "engine/observed_source.hpp"

namespace allm {
namespace {

// Who reads a stream: a consumer that may look at every event, or a function that wants the result.
enum class Reader : std::uint8_t { of_events, of_the_result };

// Makes the stream of a run whose options are in order, with `make_source` called on them.
template <class MakeSource>
EventStream open_run(const Engine& engine, const CallOptions& options, MakeSource make_source,
                     Reader reader = Reader::of_events) {
  auto run = resolve_run(engine, options);
  if (!run) return failed_stream(run.error(), options);
  (*run)->shows_messages = reader == Reader::of_events || options.on_event;
  const std::shared_ptr<const Run> settings = *run;
  return observed_stream(make_source(*std::move(run)), settings->options);
}

EventStream open_step(const Engine& engine, Thread thread, const CallOptions& options, Reader reader) {
  const auto make = [&](std::shared_ptr<const Run> run) {
    return std::make_unique<LoneStepSource>(std::move(run), std::move(thread));
  };
  return open_run(engine, options, make, reader);
}

EventStream open_chat(const Engine& engine, Thread thread, const CallOptions& options, Reader reader) {
  const auto make = [&](std::shared_ptr<Run> run) { return chat_source(std::move(run), std::move(thread)); };
  return open_run(engine, options, make, reader);
}

}  // namespace

std::unique_ptr<EventSource> chat_source(std::shared_ptr<Run> run, Thread thread) {
  const SpanIds span = new_span(*run);
  if (run->telemetry != nullptr) run->trace.span_id = span.id;  // everything below is its child
  std::unique_ptr<EventSource> source;
  const bool finalize = run->structured_finalize && run->has_response_format();
  if (finalize) {
    source = std::make_unique<FinalizeSource>(run, std::move(thread));
  } else {
    source = std::make_unique<ChatSource>(run, std::move(thread));
  }
  if (run->telemetry != nullptr) source = std::make_unique<ChatSpanSource>(std::move(run), span, std::move(source));
  return source;
}

ResponseStream stream_generate(const Engine& engine, Request request, const CallOptions& options) {
  std::string request_id;
  const auto make = [&](std::shared_ptr<const Run> run) {
    request_id = run->request_id;
    return std::make_unique<GenerateSource>(std::move(run), std::move(request));
  };
  EventStream events = open_run(engine, options, make);
  return ResponseStream(std::move(events), std::move(request_id));
}

StepStream stream_step(const Engine& engine, Thread thread, const CallOptions& options) {
  return StepStream(open_step(engine, std::move(thread), options, Reader::of_events));
}

ChatStream stream(const Engine& engine, Thread thread, const CallOptions& options) {
  return ChatStream(open_chat(engine, std::move(thread), options, Reader::of_events));
}

Result<Response> generate(const Engine& engine, Request request, const CallOptions& options) {
  return stream_generate(engine, std::move(request), options).finish();
}

Result<StepResult> step(const Engine& engine, Thread thread, const CallOptions& options) {
  return StepStream(open_step(engine, std::move(thread), options, Reader::of_the_result)).finish();
}

Result<ChatResult> chat(const Engine& engine, Thread thread, const CallOptions& options) {
  return ChatStream(open_chat(engine, std::move(thread), options, Reader::of_the_result)).finish();
}

}  // namespace allm
