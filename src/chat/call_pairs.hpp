// Finds where a thread can be cut so that calls and their results stay together.
#pragma once

#include <cstddef>

#include "allm/thread.hpp"

namespace allm {

// The last index, at most `wanted`, at which a view can begin: no result from there on answers an earlier call.
std::size_t clean_cut(const MessageList& messages, std::size_t wanted);

// The approximate size of a message in a request: its text and its calls' arguments. Parts that are not text count as
// 4,000 bytes, which corresponds to a typical image.
std::size_t message_bytes(const Message& message);
std::size_t content_bytes(const Content& content);

}  // namespace allm
