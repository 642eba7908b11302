// Streams on an Asio event loop: async_next and async_finish, for every stream class (EventStream, ChatStream,
// SessionStream, …). Header only. No other header of allm includes it, so only programs that include it need Asio.
//
// Boost.Asio is used; define ALLM_STANDALONE_ASIO to use standalone Asio.
//
//   allm::asio::async_next(stream, socket.get_executor(), [&](allm::Poll event) {
//     if (event) …                                        // otherwise the stream is at its end
//   });
//
// The stream must outlive the operation, and only one operation at a time may use it. The executor must run one
// function at a time: use that of a single-threaded io_context, or a strand. No thread waits while an operation is
// pending. If the stream is dropped while an operation is pending, the handler is destroyed without being called.
#pragma once

#include <utility>

#include "allm/detail/asio_operation.hpp"
#include "allm/stream.hpp"

namespace allm::asio {

// Reads one event. The completion signature is void(Poll). The Poll has an event or is the end; it is never pending.
template <class Stream, class Executor, class Token>
auto async_next(Stream& stream, Executor executor, Token&& token) {
  return detail::start_operation<false, void(Poll)>(stream, std::move(executor), std::forward<Token>(token));
}

// Reads the remaining events and completes with the return value of the stream's finish(): void(Result<ChatResult>) for
// a ChatStream.
template <class Stream, class Executor, class Token>
auto async_finish(Stream& stream, Executor executor, Token&& token) {
  using Finished = decltype(stream.finish());
  return detail::start_operation<true, void(Finished)>(stream, std::move(executor), std::forward<Token>(token));
}

}  // namespace allm::asio
