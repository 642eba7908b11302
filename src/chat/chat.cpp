#include "allm/chat.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "allm/approve.hpp"

#include "chat/approve_source.hpp"
#include "chat/chat_source.hpp"
#include "chat/finalize_source.hpp"
#include "chat/generate_source.hpp"
#include "chat/journaled_source.hpp"
#include "chat/lone_step_source.hpp"
#include "chat/open_run.hpp"
#include "chat/span_source.hpp"
#include "engine/layered_options.hpp"
#include "engine/observed_source.hpp"

namespace allm {
namespace {

// The reader of a stream: a consumer that may look at every event, or a function that needs only the result.
enum class Reader : std::uint8_t { of_events, of_the_result };

// Resolves the options and the request's settings, and makes the stream of the run with `make_source`.
template <class MakeSource>
EventStream open_run(const Engine& engine, Request request, CallOptions options, MakeSource make_source,
                     Reader reader = Reader::of_events, std::shared_ptr<const ToolSet> tools = nullptr,
                     std::shared_ptr<RunJournal> journal = nullptr) {
  const auto with_journal = [&](std::unique_ptr<EventSource> source) {
    if (!journal) return source;
    return std::unique_ptr<EventSource>(std::make_unique<JournaledSource>(journal, std::move(source)));
  };
  fill_options(options, take_settings(request));
  auto run = resolve_run(engine, options, std::move(tools));
  if (!run) return observed_stream(with_journal(failed_source(run.error())), options);
  (*run)->journal = journal;
  (*run)->shows_messages = reader == Reader::of_events || (*run)->options.on_event;
  (*run)->request = std::move(request);
  const std::shared_ptr<const Run> settings = *run;
  return observed_stream(with_journal(make_source(*std::move(run))), settings->options);
}

// The messages are in `thread` only, not in `request`.
EventStream open_step(const Engine& engine, Thread thread, Request request, const CallOptions& options, Reader reader) {
  const auto make = [&](std::shared_ptr<const Run> run) {
    return std::make_unique<LoneStepSource>(std::move(run), std::move(thread));
  };
  return open_run(engine, std::move(request), options, make, reader);
}

EventStream open_chat(const Engine& engine, Thread thread, Request request, const CallOptions& options, Reader reader,
                      std::shared_ptr<RunJournal> journal = nullptr) {
  const auto make = [&](std::shared_ptr<Run> run) { return chat_source(std::move(run), std::move(thread)); };
  return open_run(engine, std::move(request), options, make, reader, nullptr, std::move(journal));
}

EventStream open_approval(const Engine& engine, Thread thread, std::vector<PendingToolCall> pending,
                          std::vector<CallDecision> decisions, const CallOptions& options, Reader reader,
                          std::shared_ptr<RunJournal> journal = nullptr) {
  const auto make = [&](std::shared_ptr<Run> run) {
    auto approval = std::make_unique<ApproveSource>(run, thread, std::move(pending), std::move(decisions));
    return chat_source(std::move(run), std::move(thread), std::move(approval));
  };
  return open_run(engine, {}, options, make, reader, nullptr, std::move(journal));
}

Thread take_thread(Request& request) { return Thread(std::exchange(request.messages, {})); }

}  // namespace

std::unique_ptr<EventSource> chat_source(std::shared_ptr<Run> run, Thread thread,
                                         std::unique_ptr<ApproveSource> approval) {
  const SpanIds span = new_span(*run);
  if (run->telemetry != nullptr) run->trace.span_id = span.id;  // parent of all other spans of the run
  std::unique_ptr<EventSource> source;
  const bool finalize = run->structured_finalize && run->options.response_format;
  if (finalize) {
    source = std::make_unique<FinalizeSource>(run, std::move(thread), std::move(approval));
  } else {
    source = std::make_unique<ChatSource>(run, std::move(thread), std::move(approval));
  }
  if (run->telemetry != nullptr) source = std::make_unique<ChatSpanSource>(std::move(run), span, std::move(source));
  return source;
}

ResponseStream stream_generate(const Engine& engine, Request request, const CallOptions& options) {
  // A single model call sends the tools of its request, or the engine's if the request has none.
  std::shared_ptr<const ToolSet> tools;
  if (!request.tools.empty()) tools = std::make_shared<const ToolSet>(std::exchange(request.tools, {}));
  std::string request_id;
  const auto make = [&](std::shared_ptr<const Run> run) {
    request_id = run->request_id;
    return std::make_unique<GenerateSource>(std::move(run));
  };
  EventStream events = open_run(engine, std::move(request), options, make, Reader::of_events, std::move(tools));
  return ResponseStream(std::move(events), std::move(request_id));
}

EventStream stream_thread(const Engine& engine, Thread thread, Request settings, const CallOptions& options,
                          std::shared_ptr<RunJournal> journal) {
  settings.messages = {};
  return open_chat(engine, std::move(thread), std::move(settings), options, Reader::of_events, std::move(journal));
}
EventStream stream_approved_calls(const Engine& engine, Thread thread, std::vector<PendingToolCall> pending,
                                  std::vector<CallDecision> decisions, const CallOptions& options,
                                  std::shared_ptr<RunJournal> journal) {
  return open_approval(engine, std::move(thread), std::move(pending), std::move(decisions), options, Reader::of_events,
                       std::move(journal));
}
EventStream stream_thread_step(const Engine& engine, Thread thread, Request settings, const CallOptions& options) {
  settings.messages = {};
  return open_step(engine, std::move(thread), std::move(settings), options, Reader::of_events);
}

StepStream stream_step(const Engine& engine, Thread thread, const CallOptions& options) {
  return StepStream(stream_thread_step(engine, std::move(thread), {}, options));
}
StepStream stream_step(const Engine& engine, Request request, const CallOptions& options) {
  Thread thread = take_thread(request);
  return StepStream(stream_thread_step(engine, std::move(thread), std::move(request), options));
}

ChatStream stream(const Engine& engine, Thread thread, const CallOptions& options) {
  return ChatStream(stream_thread(engine, std::move(thread), {}, options));
}
ChatStream stream(const Engine& engine, Request request, const CallOptions& options) {
  Thread thread = take_thread(request);
  return ChatStream(stream_thread(engine, std::move(thread), std::move(request), options));
}

Result<Response> generate(const Engine& engine, Request request, const CallOptions& options) {
  return stream_generate(engine, std::move(request), options).finish();
}

Result<StepResult> step(const Engine& engine, Thread thread, const CallOptions& options) {
  return StepStream(open_step(engine, std::move(thread), {}, options, Reader::of_the_result)).finish();
}
Result<StepResult> step(const Engine& engine, Request request, const CallOptions& options) {
  Thread thread = take_thread(request);
  return StepStream(open_step(engine, std::move(thread), std::move(request), options, Reader::of_the_result)).finish();
}

Result<ChatResult> chat(const Engine& engine, Thread thread, const CallOptions& options) {
  return ChatStream(open_chat(engine, std::move(thread), {}, options, Reader::of_the_result)).finish();
}
Result<ChatResult> chat(const Engine& engine, Request request, const CallOptions& options) {
  Thread thread = take_thread(request);
  return ChatStream(open_chat(engine, std::move(thread), std::move(request), options, Reader::of_the_result)).finish();
}

Result<std::string> ask(const Engine& engine, Content question, const CallOptions& options) {
  const Result<ChatResult> result = chat(engine, Thread{user(std::move(question))}, options);
  if (!result) return std::unexpected(result.error());
  return unwrap(*result);
}

Result<ChatResult> approve(const Engine& engine, Thread thread, std::vector<PendingToolCall> pending,
                           std::vector<CallDecision> decisions, const CallOptions& options) {
  return ChatStream(open_approval(engine, std::move(thread), std::move(pending), std::move(decisions), options,
                                  Reader::of_the_result))
      .finish();
}

ChatStream stream_approve(const Engine& engine, Thread thread, std::vector<PendingToolCall> pending,
                          std::vector<CallDecision> decisions, const CallOptions& options) {
  return ChatStream(
      stream_approved_calls(engine, std::move(thread), std::move(pending), std::move(decisions), options));
}

}  // namespace allm
