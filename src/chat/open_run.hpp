// Opens runs of a thread with a request's settings, for the public functions and for sessions.
#pragma once

#include <memory>
#include <vector>

#include "allm/approve.hpp"
#include "allm/chat.hpp"

#include "engine/run_journal.hpp"

namespace allm {

// The run's messages are those of `thread`; the messages of `settings` are ignored. With a journal, the run is recorded
// there or continued from there.
EventStream stream_thread(const Engine& engine, Thread thread, Request settings, const CallOptions& options,
                          std::shared_ptr<RunJournal> journal = nullptr);
EventStream stream_approved_calls(const Engine& engine, Thread thread, std::vector<PendingToolCall> pending,
                                  std::vector<CallDecision> decisions, const CallOptions& options,
                                  std::shared_ptr<RunJournal> journal = nullptr);
EventStream stream_thread_step(const Engine& engine, Thread thread, Request settings, const CallOptions& options);

}  // namespace allm
