// Where a thread can be cut so that calls and their results stay together.
#pragma once

#include <cstddef>

#include "allm/thread.hpp"

namespace allm {

// The last index up to `wanted` that can begin a view: no result from there on answers a call before it.
std::size_t clean_cut(const MessageList& messages, std::size_t wanted);

// About what a message takes in a request: its text and its calls' arguments. Parts that are not text count as 4,000
// bytes, which is a usual image's share of a prompt.
std::size_t message_bytes(const Message& message);
std::size_t content_bytes(const Content& content);

}  // namespace allm
