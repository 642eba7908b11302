// Runs of a thread under a request's settings: what the public functions and the sessions are made of.
#pragma once

#include "allm/chat.hpp"

namespace allm {

// The messages are the thread's; those of `settings` are ignored.
EventStream stream_thread(const Engine& engine, Thread thread, Request settings, const CallOptions& options);
EventStream stream_thread_step(const Engine& engine, Thread thread, Request settings, const CallOptions& options);

}  // namespace allm
