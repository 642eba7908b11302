// A run with a journal: holds its events back until the facts that they report are committed.
#pragma once

#include <deque>
#include <memory>

#include "allm/stream.hpp"

#include "engine/run_journal.hpp"

namespace allm {

// While an event is held back, the run goes on up to the next point where it waits, so that one commit has many facts.
// If the journal fails, the run is dropped and the stream ends with the journal's error. One thread at a time.
class JournaledSource : public EventSource {
 public:
  JournaledSource(std::shared_ptr<RunJournal> journal, std::unique_ptr<EventSource> inner);
  Poll poll(const Waker& waker) override;

 private:
  // Events that are held back. More of them than this would mean that a consumer learns of a model's text too late.
  static constexpr std::size_t kMaxHeld = 64;
  struct Held {
    Event event;
    RunJournal::Position position;  // of the last fact before the event
  };
  // Polls the run and takes its next event; false if there is none yet.
  bool take_more(const Waker& waker);

  std::shared_ptr<RunJournal> journal_;  // shared with the run and the runner of the session
  std::unique_ptr<EventSource> inner_;   // until its end
  std::deque<Held> held_;
  bool done_ = false;
};

}  // namespace allm
