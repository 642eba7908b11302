#include "http/client.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <openssl/crypto.h>
#include <optional>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include "http/handle.hpp"
#include "http/proxy.hpp"
#include "http/read_budget.hpp"
#include "runtime/function_task.hpp"
#include "runtime/loop.hpp"
#include "runtime/no_broken_pipes.hpp"
#include "runtime/parker.hpp"

namespace allm {
namespace {

using Clock = std::chrono::steady_clock;

CURLcode init_curl() {
  // Without its handler at exit, which would free what connections on other threads still use. This has no effect if
  // the program has initialised OpenSSL before.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  return curl_global_init(CURL_GLOBAL_DEFAULT);
}

CURLM* make_multi() {
  static const CURLcode initialised = init_curl();
  return initialised == CURLE_OK ? curl_multi_init() : nullptr;
}

}  // namespace

// The curl multi handle and the exchanges in it. Used on the thread that drives the loop, except for construction and
// destruction.
class HttpClient::Multi : public Watcher, public std::enable_shared_from_this<Multi> {
 public:
  explicit Multi(std::shared_ptr<Loop> loop) : loop_(std::move(loop)), multi_(make_multi()) {
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Multi::on_socket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Multi::on_timer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(kept_connections_));
  }
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;
  ~Multi() override {
    const NoBrokenPipes guard;
    closing_ = true;
    for (const auto& [easy, entry] : active_) curl_multi_remove_handle(multi_, easy);
    active_.clear();
    curl_multi_cleanup(multi_);
  }

  const std::shared_ptr<Loop>& loop() const { return loop_; }
  const std::shared_ptr<SpareHandles>& spares() const { return spares_; }
  template <class Function>
  void post(Function function) {
    loop_->post(function_task(std::move(function)));
  }
  template <class Function>
  void post_deferred(Function function) {
    loop_->post_deferred(function_task(std::move(function)));
  }

  void add(std::shared_ptr<HttpHandle> handle) {
    const auto blocks = [&](const auto& active) { return active.second.handle->blocks(*handle); };
    if (std::ranges::none_of(active_, blocks)) {
      start(handle);
      return after_curl();
    }
    // The end of a body usually follows its last event at once: waiting for it is quicker than another connection.
    constexpr std::chrono::milliseconds kMaxHold{5};
    held_.push_back(std::move(handle));
    if (held_.size() > 1) return;
    held_timer_ = arm(kMaxHold, [](Multi& multi) {
      multi.start_held();
      multi.after_curl();
    });
  }

  void cancel(CURL* easy) {
    std::erase_if(held_, [&](const auto& handle) { return handle->easy() == easy; });
    if (!active_.contains(easy)) return;
    remove(easy);
    after_curl();
  }

  void drain_in_background(CURL* easy) {
    const auto entry = active_.find(easy);
    if (entry == active_.end()) return;
    const std::shared_ptr<HttpHandle> handle = entry->second.handle;
    handle->discard();
    watch_clock(entry->second);
    curl_easy_pause(easy, CURLPAUSE_CONT);
    after_curl();
  }

  void resume(CURL* easy) {
    const auto entry = active_.find(easy);
    if (entry == active_.end()) return;
    // curl_easy_pause() may call back at once and end the exchange.
    const std::shared_ptr<HttpHandle> handle = entry->second.handle;
    handle->touch();
    curl_easy_pause(easy, CURLPAUSE_CONT);
    after_curl();
  }

  void ready(int fd, unsigned events) noexcept override {
    int mask = 0;
    if ((events & EPOLLIN) != 0) mask |= CURL_CSELECT_IN;
    if ((events & EPOLLOUT) != 0) mask |= CURL_CSELECT_OUT;
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) mask |= CURL_CSELECT_ERR;
    int running = 0;
    budget_.begin_call();
    curl_multi_socket_action(multi_, fd, mask, &running);
    after_curl();
  }

 private:
  struct Entry {
    std::shared_ptr<HttpHandle> handle;
    Timer clock;
  };

  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
    Multi& multi = *static_cast<Multi*>(self);
    if (multi.closing_) return 0;
    const auto connection = multi.connections_.find(fd);
    if (what == CURL_POLL_REMOVE) {
      // An established connection is usually used again. Other descriptors are unwatched, because curl may close them
      // without a callback.
      if (connection != multi.connections_.end() && connection->second) {
        multi.loop_->pause_watch(fd);
      } else {
        multi.connections_.erase(fd);
        multi.loop_->unwatch(fd);
      }
      return 0;
    }
    // A socket that is still connecting is watched for writing only.
    if (connection != multi.connections_.end()) connection->second = what == CURL_POLL_IN;
    unsigned events = 0;
    if (what != CURL_POLL_OUT) events |= EPOLLIN;
    if (what != CURL_POLL_IN) events |= EPOLLOUT;
    multi.loop_->watch(fd, events, multi);
    return 0;
  }

  static curl_socket_t on_open(void* self, curlsocktype, curl_sockaddr* address) {
    const int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0) return CURL_SOCKET_BAD;
    Multi& multi = *static_cast<Multi*>(self);
    multi.loop_->unwatch(fd);  // a closed descriptor of the same number may still be watched
    multi.connections_.insert_or_assign(fd, false);
    return fd;
  }

  static int on_close(void* self, curl_socket_t fd) {
    Multi& multi = *static_cast<Multi*>(self);
    multi.connections_.erase(fd);
    if (!multi.closing_) multi.loop_->unwatch(fd);
    return close(fd);
  }

  // Notes when curl wants to be called. curl must not be called from within this callback.
  static int on_timer(CURLM*, long milliseconds, void* self) {
    Multi& multi = *static_cast<Multi*>(self);
    if (multi.closing_) return 0;
    multi.wants_call_ = milliseconds == 0;
    multi.wanted_ =
        milliseconds > 0 ? Clock::now() + std::chrono::milliseconds(milliseconds) : Clock::time_point::max();
    return 0;
  }

  void call_curl() {
    wants_call_ = false;
    // curl calls on_timer() again if it still waits for something, but not if nothing is left.
    wanted_ = Clock::time_point::max();
    int running = 0;
    budget_.begin_call();
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
    collect();
  }

  // After that many calls, that time or the budget of the turn, other timers and descriptors get their turn.
  void call_curl_again() {
    constexpr int kCallsInARow = 8;
    constexpr std::chrono::milliseconds kMaxTime{1};
    const Clock::time_point end = Clock::now() + kMaxTime;
    for (int i = 0; wants_call_ && i < kCallsInARow; ++i) {
      call_curl();
      if (budget_.is_used_up() || Clock::now() >= end) return;
    }
  }

  // Must follow every call of curl: ends exchanges that are done, and calls curl again if it wants that. Ends the turn.
  void after_curl() {
    collect();
    if (wants_call_) call_curl_again();
    watch_time();
    budget_.end_turn();
  }

  // One timer, armed again only when it has fired or would be too late: curl changes its time several times a request.
  void watch_time() {
    const Clock::time_point wanted = wants_call_ ? Clock::now() : wanted_;
    if (wanted >= armed_) return;
    armed_ = wanted;
    timer_ = arm_at(wanted, [](Multi& multi) {
      multi.armed_ = Clock::time_point::max();
      if (multi.wants_call_ || multi.wanted_ <= Clock::now()) multi.call_curl();
      multi.after_curl();
    });
  }

  template <class Function>
  Timer arm(std::chrono::milliseconds delay, Function function) {
    return arm_at(Clock::now() + delay, function);
  }
  template <class Function>
  Timer arm_at(Clock::time_point time, Function function) {
    auto task = function_task([weak = weak_from_this(), function] {
      if (const auto alive = weak.lock()) function(*alive);
    });
    loop_->arm(task, time);
    return TimerAccess::timer(std::move(task));
  }

  void start(const std::shared_ptr<HttpHandle>& handle) {
    handle->start(budget_, heard_);
    curl_easy_setopt(handle->easy(), CURLOPT_OPENSOCKETFUNCTION, &Multi::on_open);
    curl_easy_setopt(handle->easy(), CURLOPT_OPENSOCKETDATA, this);
    curl_easy_setopt(handle->easy(), CURLOPT_CLOSESOCKETFUNCTION, &Multi::on_close);
    curl_easy_setopt(handle->easy(), CURLOPT_CLOSESOCKETDATA, this);
    if (handle->easy() == nullptr || curl_multi_add_handle(multi_, handle->easy()) != CURLM_OK) {
      handle->finish(CURLE_OUT_OF_MEMORY, false);
      return;
    }
    Entry& entry = active_[handle->easy()];
    entry.handle = handle;
    watch_clock(entry);
    keep_connections();
  }

  // As many connections as there were exchanges at once, but not so many that idle ones use up descriptors. By default
  // curl keeps four for each exchange that is under way at the moment: when many end at once, it closes most of them.
  void keep_connections() {
    const std::size_t wanted = std::min(active_.size(), kMaxKeptConnections);
    if (wanted <= kept_connections_) return;
    kept_connections_ = wanted;
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(kept_connections_));
  }

  // Ends the exchanges that curl reports as done. Wakes the consumers of those for which something arrived, and pauses
  // them if their consumers do not keep up.
  void collect() {
    const bool flooded = budget_.take_flooded();
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* const easy = message->easy_handle;
      const CURLcode result = message->data.result;
      const auto entry = active_.find(easy);
      if (entry == active_.end()) continue;
      const std::shared_ptr<HttpHandle> handle = entry->second.handle;
      remove(easy);
      handle->finish(result, flooded);
    }
    for (CURL* const easy : heard_) {
      const auto entry = active_.find(easy);
      if (entry == active_.end()) continue;
      switch (entry->second.handle->end_turn()) {
        case HttpHandle::AfterTurn::go_on:
          break;
        // In both directions, or curl would read once more.
        case HttpHandle::AfterTurn::pause:
          curl_easy_pause(easy, CURLPAUSE_ALL);
          break;
        case HttpHandle::AfterTurn::resume:
          post([self = shared_from_this(), handle = entry->second.handle] { self->resume(handle->easy()); });
          break;
      }
    }
    heard_.clear();
  }

  void remove(CURL* easy) {
    curl_multi_remove_handle(multi_, easy);
    active_.erase(easy);
    start_held();
  }

  void start_held() {
    held_timer_.cancel();
    for (const auto& handle : std::exchange(held_, {})) start(handle);
  }

  // One timer per exchange, armed again only when it has fired, so that bytes from the server need no timer operation.
  void watch_clock(Entry& entry) {
    auto task = function_task([weak = weak_from_this(), easy = entry.handle->easy()] {
      if (const auto alive = weak.lock()) alive->check_clock(easy);
    });
    const auto next = entry.handle->next_check();
    entry.clock = TimerAccess::timer(task);  // cancels the one before it
    if (next != Clock::time_point::max()) loop_->arm(std::move(task), next);
  }

  void check_clock(CURL* easy) {
    const auto found = active_.find(easy);
    if (found == active_.end()) return;
    Entry& entry = found->second;
    const std::shared_ptr<HttpHandle> handle = entry.handle;
    if (handle->received().paused()) handle->touch();  // the consumer is slow, not the server
    if (handle->deadline() > Clock::now()) return watch_clock(entry);
    remove(easy);
    handle->received().put_end(handle->timeout());
    after_curl();
  }

  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<SpareHandles> spares_ = std::make_shared<SpareHandles>();
  ReadBudget budget_;
  std::vector<CURL*> heard_;  // exchanges for which something arrived in this turn
  CURLM* const multi_;
  static constexpr std::size_t kMaxKeptConnections = 256;
  std::size_t kept_connections_ = 16;
  bool wants_call_ = false;                              // at once
  Clock::time_point wanted_ = Clock::time_point::max();  // or at that time
  Clock::time_point armed_ = Clock::time_point::max();   // when the timer fires
  Timer timer_;
  bool closing_ = false;
  std::unordered_map<CURL*, Entry> active_;
  std::unordered_map<int, bool> connections_;      // by socket: whether it was last watched for reading
  std::vector<std::shared_ptr<HttpHandle>> held_;  // exchanges that wait for another to free its connection
  Timer held_timer_;
};

namespace {

template <class Multi>
class Transfer : public HttpTransfer {
 public:
  Transfer(std::shared_ptr<Multi> multi, std::shared_ptr<HttpHandle> handle)
      : multi_(std::move(multi)), handle_(std::move(handle)) {}
  ~Transfer() override {
    if (awaited_) multi_->post([multi = multi_, handle = handle_] { multi->cancel(handle->easy()); });
  }

  Progress poll(const Waker& waker, std::string spare) override {
    ReceiveBuffer::Taken taken = handle_->received().take(waker, std::move(spare));
    if (std::holds_alternative<Pending>(taken.progress)) {
      await(waker);
    } else if (std::holds_alternative<Ended>(taken.progress) || std::holds_alternative<HttpError>(taken.progress)) {
      awaited_.reset();
    } else if (taken.resume) {
      multi_->post([multi = multi_, handle = handle_] { multi->resume(handle->easy()); });
    }
    return std::move(taken.progress);
  }

  const HttpRequest& sent() const override { return handle_->request(); }

  void drain_in_background() override {
    if (!awaited_) return;
    awaited_.reset();
    if (handle_->received().ended()) return;
    // Usually the end has arrived by the time the loop is driven, and nothing is left to do.
    multi_->post_deferred([multi = multi_, handle = handle_] { multi->drain_in_background(handle->easy()); });
  }

 private:
  void await(const Waker& waker) {
    Parker* const waiter = WakerAccess::waiting_parker(waker);
    const bool waiter_drives = waiter != nullptr;
    if (waiter_drives) waiter->drive_in_next_wait(multi_->loop());
    if (awaited_) return awaited_->set_waiter_drives(waiter_drives);
    // The first poll sends the request.
    awaited_.emplace(multi_->loop(), waiter_drives);
    auto begin = [multi = multi_, handle = handle_] { multi->add(handle); };
    waiter_drives ? multi_->post_deferred(std::move(begin)) : multi_->post(std::move(begin));
  }

  std::shared_ptr<Multi> multi_;
  std::shared_ptr<HttpHandle> handle_;
  std::optional<Loop::Awaited> awaited_;  // from the first poll until the exchange is over
};

}  // namespace

HttpClient::HttpClient(std::shared_ptr<Loop> loop) : multi_(std::make_shared<Multi>(std::move(loop))) {}
HttpClient::~HttpClient() = default;

std::unique_ptr<HttpTransfer> HttpClient::start(HttpRequest request, const HttpTimeouts& timeouts,
                                                const HttpLimits& limits, const HttpRoute& route) {
  if (may_use_tls(request.url, route)) multi_->loop()->expect_broken_pipes();
  return std::make_unique<Transfer<Multi>>(
      multi_, std::make_shared<HttpHandle>(std::move(request), timeouts, limits, route, multi_->spares()));
}

}  // namespace allm
