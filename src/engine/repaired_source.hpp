// Repairs the events of an adapter's stream where they enter the engine. Text that is not valid UTF-8, or a number that
// JSON cannot express, would make a thread that cannot be saved.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allm/stream.hpp"

namespace allm {

// Passes on the events of another source. Bytes that are not valid UTF-8 become U+FFFD; a character that is split over
// two deltas of one text stays whole. Valid events pass as they are. One thread at a time.
class RepairedSource : public EventSource {
 public:
  explicit RepairedSource(std::unique_ptr<EventSource> source) : source_(std::move(source)) {}
  Poll poll(const Waker& waker) override;

 private:
  // The incomplete character at the end of a text's last delta.
  struct Tail {
    EventTag tag;                   // of the deltas
    std::optional<std::string> id;  // of the text or the call
    std::string bytes;
  };

  // Repairs the event of the source; replaces it by the rest of a tail that has to come before it.
  void repair_polled(Poll& polled);
  void repair(Event& event);
  void repair_delta(EventTag tag, const std::optional<std::string>& id, std::string& delta);
  // Puts the rest of every tail that `event` ends into `ready_`, as deltas to be delivered before the event.
  void end_tails(const Event& event);
  void drop_tails(EventTag tag, const std::optional<std::string>& id);

  std::unique_ptr<EventSource> source_;
  std::vector<Tail> tails_;
  std::vector<Event> ready_;  // from ready_at_ on: to be delivered
  std::size_t ready_at_ = 0;
};

}  // namespace allm
