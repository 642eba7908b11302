// Repairs what an adapter's stream says, at the one place where it enters the engine: text that is not valid UTF-8, and
// numbers that JSON does not have, would make a thread that cannot be saved.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allm/stream.hpp"

namespace allm {

// Gives the events of another source. Bytes that are not valid UTF-8 become U+FFFD; a character that is split over two
// deltas of one text stays whole. Valid events pass as they are. One thread at a time.
class RepairedSource : public EventSource {
 public:
  explicit RepairedSource(std::unique_ptr<EventSource> source) : source_(std::move(source)) {}
  Poll poll(const Waker& waker) override;

 private:
  // The incomplete character at the end of what has come of a text so far.
  struct Tail {
    EventTag tag;                   // of the deltas
    std::optional<std::string> id;  // of the text or the call
    std::string bytes;
  };

  void repair(Event& event);
  void repair_delta(EventTag tag, const std::optional<std::string>& id, std::string& delta);
  // Gives what is left of tails that `event` ends: as deltas in `ready_`, before it.
  void end_tails(const Event& event);
  void drop_tails(EventTag tag, const std::optional<std::string>& id);

  std::unique_ptr<EventSource> source_;
  std::vector<Tail> tails_;
  std::vector<Event> ready_;  // from ready_at_ on: to be given out
  std::size_t ready_at_ = 0;
};

}  // namespace allm
