// The implementation of allm/asio.hpp. Not for direct use: its names may change.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#ifdef ALLM_STANDALONE_ASIO
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/dispatch.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#else
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#endif

#include "allm/stream.hpp"

namespace allm::asio::detail {

#ifdef ALLM_STANDALONE_ASIO
namespace net = ::asio;
#else
namespace net = ::boost::asio;
#endif

// One pending async_next or async_finish. The stream's waker owns it, so it exists until the stream has an event or
// releases the waker.
template <class Stream, class Executor, class Handler, bool kToTheEnd>
class StreamOperation : public Waker::Target,
                        public std::enable_shared_from_this<StreamOperation<Stream, Executor, Handler, kToTheEnd>> {
 public:
  StreamOperation(Stream& stream, Executor executor, Handler handler)
      : stream_(stream), executor_(executor), work_(std::move(executor)), handler_(std::move(handler)) {}

  void wake() noexcept override {
    // Wake-ups before the next poll are merged.
    if (!woken_.exchange(true)) post_poll();
  }

 private:
  void post_poll() {
    net::post(executor_, [self = this->shared_from_this()] { self->poll(); });
  }

  void poll() {
    if (done_) return;
    woken_ = false;
    const Waker waker(this->shared_from_this());
    Poll polled = stream_.poll(waker);
    if constexpr (kToTheEnd) {
      while (polled.has_event()) polled = stream_.poll(waker);
    }
    if (polled.is_pending()) return;
    done_ = true;
    if constexpr (kToTheEnd) {
      complete(stream_.finish());
    } else {
      complete(std::move(polled));
    }
  }

  template <class Value>
  void complete(Value value) {
    auto executor = net::get_associated_executor(handler_, executor_);
    net::dispatch(executor,
                  [handler = std::move(handler_), result = std::move(value)]() mutable { handler(std::move(result)); });
    work_.reset();
  }

  Stream& stream_;
  Executor executor_;
  net::executor_work_guard<Executor> work_;
  Handler handler_;
  std::atomic<bool> woken_{true};  // a poll is posted
  bool done_ = false;

  template <bool kEnd, class Signature, class S, class E, class Token>
  friend auto start_operation(S& stream, E executor, Token&& token);
};

template <bool kToTheEnd, class Signature, class Stream, class Executor, class Token>
auto start_operation(Stream& stream, Executor executor, Token&& token) {
  return net::async_initiate<Token, Signature>(
      [](auto handler, Stream* source, Executor on) {
        using Operation = StreamOperation<Stream, Executor, decltype(handler), kToTheEnd>;
        std::make_shared<Operation>(*source, std::move(on), std::move(handler))->post_poll();
      },
      token, &stream, std::move(executor));
}

}  // namespace allm::asio::detail
