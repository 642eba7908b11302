// A run in two passes: the loop without a response format, then one model call for the answer in that format.
#pragma once

#include <memory>
#include <optional>

#include "allm/stream.hpp"

#include "chat/chat_source.hpp"
#include "engine/run.hpp"

namespace allm {

// Produces the events of both passes and one ChatCompleted. If the second pass fails, the result is that of the first
// pass, and its metadata say why. Both passes share the run's limits. One thread at a time.
class FinalizeSource : public EventSource {
 public:
  // `approval`: see ChatSource.
  FinalizeSource(std::shared_ptr<const Run> run, Thread thread, std::unique_ptr<ApproveSource> approval = nullptr);
  Poll poll(const Waker& waker) override;

 private:
  std::optional<Poll> first_pass_done(const std::shared_ptr<const ChatResult>& result);
  Poll second_pass_done(const ChatResult& result);
  Poll complete(ChatResult result, Json note);

  std::shared_ptr<const Run> run_;
  std::unique_ptr<ChatSource> pass_;
  std::shared_ptr<const ChatResult> first_;
  bool done_ = false;
};

}  // namespace allm
