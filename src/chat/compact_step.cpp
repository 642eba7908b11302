#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allm/chat.hpp"
#include "allm/collector.hpp"
#include "allm/steps.hpp"

#include "chat/call_pairs.hpp"

namespace allm {
namespace {

// A summary of a thread's messages up to an index.
struct Summary {
  MessageList of;
  std::string text;
};

// The summaries that were made, newest first. Shared by the copies of a hook; safe to call from any thread.
class Summaries {
 public:
  explicit Summaries(std::size_t limit) : limit_(std::max<std::size_t>(1, limit)) {}

  // The longest summary of messages at the beginning of `messages`.
  std::optional<Summary> find(const MessageList& messages) const {
    const std::lock_guard lock(mutex_);
    const Summary* best = nullptr;
    for (const Summary& summary : summaries_) {
      if (best != nullptr && summary.of.size() <= best->of.size()) continue;
      if (summary.of.size() <= messages.size() && messages.first(summary.of.size()) == summary.of) best = &summary;
    }
    return best != nullptr ? std::optional(*best) : std::nullopt;
  }
  void add(Summary summary) {
    const std::lock_guard lock(mutex_);
    summaries_.push_front(std::move(summary));
    if (summaries_.size() > limit_) summaries_.pop_back();
  }

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::deque<Summary> summaries_;
};

std::string transcript(const MessageList& messages, std::size_t from, std::size_t end) {
  std::string text;
  for (std::size_t i = from; i < end; ++i) {
    const Message& message = messages[i];
    if (message.role == Role::system) continue;
    text += std::string(to_string(message.role)) + ": " + message.text() + "\n";
    for (const ToolCall& call : message.tool_calls) {
      text += "call " + call.name + " " +
              (call.raw_arguments ? *call.raw_arguments
                                  : call.arguments.dump(-1, ' ', false, Json::error_handler_t::replace)) +
              "\n";
    }
  }
  return text;
}

// The system messages, the summary, and the messages that it does not cover.
MessageList with_summary(const MessageList& messages, const Summary& summary) {
  std::vector<Message> view;
  for (std::size_t i = 0; i < summary.of.size(); ++i) {
    if (messages[i].role == Role::system) view.push_back(messages[i]);
  }
  view.push_back(user("Summary of the conversation so far:\n" + summary.text));
  for (std::size_t i = summary.of.size(); i < messages.size(); ++i) view.push_back(messages[i]);
  return {std::move(view)};
}

bool is_over(const CompactWhen& when, const MessageList& messages) {
  constexpr std::size_t kBytesPerToken = 4;
  std::size_t bytes = 0;
  for (const Message& message : messages) bytes += message_bytes(message);
  return (when.over_bytes && bytes > *when.over_bytes) ||
         (when.over_tokens && bytes / kBytesPerToken > *when.over_tokens);
}

// Waits for the summarising model.
class CompactPlan : public PendingPlan {
 public:
  CompactPlan(EventStream events, MessageList messages, std::size_t cut, std::shared_ptr<Summaries> summaries)
      : events_(std::move(events)), messages_(std::move(messages)), cut_(cut), summaries_(std::move(summaries)) {}

  std::optional<Result<StepPlan>> poll(const Waker& waker) override {
    while (true) {
      Poll polled = events_.poll(waker);
      if (polled.is_pending()) return std::nullopt;
      if (polled.is_end()) return finish();
      collector_.apply(polled.take());
    }
  }

 private:
  Result<StepPlan> finish() {
    Result<Response> response = std::move(collector_).response();
    if (!response) return std::unexpected(response.error());
    // A summary that ended because of its length is accepted.
    if (response->finish_reason != FinishReason::length) {
      if (const Result<std::string> text = unwrap(*response); !text) return std::unexpected(text.error());
    }
    Summary summary{messages_.first(cut_), response->text().value_or("")};
    MessageList view = with_summary(messages_, summary);
    summaries_->add(std::move(summary));
    return StepPlan{.messages = std::move(view), .usage = response->usage};
  }

  EventStream events_;
  MessageList messages_;
  std::size_t cut_;
  std::shared_ptr<Summaries> summaries_;
  StreamCollector collector_;
};

// The hook.
class Compaction {
 public:
  Compaction(const CompactWhen& when, Engine engine, CompactOptions options)
      : when_(when),
        engine_(std::move(engine)),
        options_(std::move(options)),
        summaries_(std::make_shared<Summaries>(options_.remembered)) {}

  PlannedStep operator()(const StepView& step) const {
    const MessageList& messages = step.thread.messages;
    const std::optional<Summary> known = summaries_->find(messages);
    StepPlan plan;
    if (known) plan.messages = with_summary(messages, *known);
    if (!is_over(when_, known ? *plan.messages : messages)) return plan;
    const std::size_t covered = known ? known->of.size() : 0;
    const std::size_t cut = clean_cut(messages, messages.size() - std::min(messages.size(), options_.keep_last));
    if (cut <= covered) return plan;
    std::string text = transcript(messages, covered, cut);
    if (text.empty()) return plan;
    if (known) text = "Summary of what came before:\n" + known->text + "\n\n" + text;
    Request request{.messages = {system(options_.instructions), user(std::move(text))}};
    return std::make_unique<CompactPlan>(stream_generate(engine_, std::move(request), call_options_for(step)), messages,
                                         cut, summaries_);
  }

 private:
  CompactWhen when_;
  Engine engine_;
  CompactOptions options_;
  std::shared_ptr<Summaries> summaries_;
};

}  // namespace

PrepareStep compact(CompactWhen when, Engine engine, CompactOptions options) {
  return Compaction(when, std::move(engine), std::move(options));
}

}  // namespace allm
