// Opens runs of a thread with a request's settings, for the public functions and for sessions.
#pragma once

#include "allm/chat.hpp"

namespace allm {

// The run's messages are those of `thread`; the messages of `settings` are ignored.
EventStream stream_thread(const Engine& engine, Thread thread, Request settings, const CallOptions& options);
EventStream stream_thread_step(const Engine& engine, Thread thread, Request settings, const CallOptions& options);

}  // namespace allm
