#include "allm/chat.hpp"

#include <memory>
#include <utility>

#include "chat/chat_source.hpp"
#include "chat/finalize_source.hpp"
#include "chat/generate_source.hpp"
#include "chat/lone_step_source.hpp"
#include "chat/span_source.hpp"
#include "engine/observed_source.hpp"

namespace allm {
namespace {

// Makes the stream of a run whose options are in order, with `make_source` called on them.
template <class MakeSource>
EventStream open_run(const Engine& engine, CallOptions options, MakeSource make_source) {
  auto run = resolve_run(engine, options);
  if (!run) return failed_stream(run.error(), options);
  return observed_stream(make_source(*std::move(run)), options);
}

StreamCollector collect(EventStream events, Thread seed) {
  StreamCollector collector(std::move(seed));
  while (std::optional<Event> event = events.next()) collector.apply(*event);
  return collector;
}

}  // namespace

EventStream stream_generate(const Engine& engine, Request request, CallOptions options) {
  return open_run(engine, std::move(options), [&](std::shared_ptr<const Run> run) {
    return std::make_unique<GenerateSource>(std::move(run), std::move(request));
  });
}

EventStream stream_step(const Engine& engine, Thread thread, CallOptions options) {
  return open_run(engine, std::move(options), [&](std::shared_ptr<const Run> run) {
    return std::make_unique<LoneStepSource>(std::move(run), std::move(thread));
  });
}

EventStream stream(const Engine& engine, Thread thread, CallOptions options) {
  return open_run(engine, std::move(options), [&](std::shared_ptr<const Run> run) {
    std::unique_ptr<EventSource> source;
    const bool finalize = run->structured_finalize && run->has_response_format();
    if (finalize) {
      source = std::make_unique<FinalizeSource>(run, std::move(thread));
    } else {
      source = std::make_unique<ChatSource>(run, std::move(thread));
    }
    if (run->telemetry != nullptr) source = std::make_unique<ChatSpanSource>(std::move(run), std::move(source));
    return source;
  });
}

Result<Response> generate(const Engine& engine, Request request, const CallOptions& options) {
  return collect(stream_generate(engine, std::move(request), options), {}).response();
}

Result<StepResult> step(const Engine& engine, Thread thread, const CallOptions& options) {
  return collect(stream_step(engine, std::move(thread), options), {}).step_result();
}

Result<ChatResult> chat(const Engine& engine, Thread thread, const CallOptions& options) {
  Thread seed = thread;
  return collect(stream(engine, std::move(thread), options), std::move(seed)).chat_result();
}

}  // namespace allm
