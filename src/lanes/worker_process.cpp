#include "lanes/worker_process.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "data/tool_errors.hpp"
#include "lanes/cpu_limit.hpp"
#include "lanes/outcome_json.hpp"
#include "lanes/worker_wire.hpp"
#include "process/frames.hpp"
#include "process/job_members.hpp"
#include "runtime/fork_guard.hpp"
#include "runtime/parker.hpp"
#include "tools/guarded.hpp"
#include "tools/tool_context_state.hpp"

namespace allm {
namespace {

std::map<std::string, WorkerEntry>& entries() {
  static auto* const registered = new std::map<std::string, WorkerEntry>();
  return *registered;
}

// The next call usually comes soon, and a wake-up takes longer than most handlers run.
constexpr std::chrono::microseconds kSpinBudget{50};

std::atomic<int> line_of_worker{-1};
std::atomic<std::uint64_t> call_of_worker{0};

// Must not allocate memory.
[[noreturn]] void end_for_lack_of_memory() {
  std::array<char, kFrameHeaderBytes + kWorkerHeaderBytes> frame{};
  frame[0] = static_cast<char>(kWorkerHeaderBytes);
  frame[kFrameHeaderBytes] = static_cast<char>(WorkerMessageKind::out_of_memory);
  const std::uint64_t call = call_of_worker;
  for (std::size_t i = 0; i < 8; ++i) {
    frame[kFrameHeaderBytes + 1 + i] = static_cast<char>((call >> (8 * i)) & 0xffU);
  }
  [[maybe_unused]] const ssize_t sent = send(line_of_worker, frame.data(), frame.size(), MSG_NOSIGNAL);
  _exit(ENOMEM);
}

// The socket to the program. send() is safe to call from any thread; receive() is for one thread at a time.
class Line {
 public:
  explicit Line(int fd) : fd_(fd) {}

  bool send(WorkerMessageKind kind, std::uint64_t call, std::string_view text) {
    const std::string frame = make_worker_frame(kind, call, text);
    const std::lock_guard lock(mutex_);
    return send_all(fd_, frame);
  }

  // The text of the next frame; nullopt if the program has closed its end, or if the frame is longer than any call.
  std::optional<std::string> receive() {
    std::array<char, kFrameHeaderBytes> header{};
    char first = 0;
    spin_until([&] { return recv(fd_, &first, 1, MSG_PEEK | MSG_DONTWAIT) >= 0; }, kSpinBudget);
    if (!receive_all(header.data(), header.size())) return std::nullopt;
    const std::size_t length = frame_length(header.data());
    if (length > kWorkerHeaderBytes + kMaxCallBytes) return std::nullopt;
    std::string text(length, '\0');
    if (!receive_all(text.data(), text.size())) return std::nullopt;
    return text;
  }

 private:
  bool receive_all(char* buffer, std::size_t size) const {
    while (size > 0) {
      const ssize_t got = recv(fd_, buffer, size, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      buffer += got;
      size -= static_cast<std::size_t>(got);
    }
    return true;
  }

  const int fd_;
  std::mutex mutex_;
};

// The context of a call in the worker. Shared: a handler may keep a ToolContext after its call has ended.
class CallContext : public ToolContext::State {
 public:
  CallContext(std::shared_ptr<const Run> run_settings, const WorkerRequest& request, std::uint64_t id, Line& line)
      : State(std::move(run_settings), request.call), id_(id), max_bytes_(request.max_output), line_(line) {
    deadline = request.deadline;
    idempotency_key = request.idempotency_key;
  }
  void report_progress(Json progress) const override {
    const auto text = write_json(progress);
    // The program would kill a worker whose message is longer than an answer may be.
    if (!text || text->size() > max_bytes_) return;
    const std::lock_guard lock(mutex_);
    if (!over_) line_.send(WorkerMessageKind::progress, id_, *text);
  }
  void end() {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }

 private:
  const std::uint64_t id_;
  const std::uint64_t max_bytes_;
  Line& line_;
  mutable std::mutex mutex_;
  bool over_ = false;
};

// Receives the answer of a handler, which may come after the handler has returned.
class Answer : public ToolCompletion::Sink {
 public:
  // Shared: a handler may keep its completion after the call has ended.
  struct Slot {
    std::mutex mutex;
    std::condition_variable there;
    std::optional<ToolOutcome> outcome;
    bool lost = false;  // all completions were destroyed
  };
  explicit Answer(std::shared_ptr<Slot> slot) : slot_(std::move(slot)) {}
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() override {
    const std::lock_guard lock(slot_->mutex);
    slot_->lost = true;
    slot_->there.notify_all();
  }
  bool complete(ToolOutcome outcome) override {
    const std::lock_guard lock(slot_->mutex);
    if (slot_->outcome) return false;
    slot_->outcome = std::move(outcome);
    slot_->there.notify_all();
    return true;
  }

 private:
  const std::shared_ptr<Slot> slot_;
};

ToolFailure failed(const ToolCall& call, ToolError::Reason reason, std::string message) {
  return {tool_error(call, reason, std::move(message))};
}

class WorkerProcess {
 public:
  WorkerProcess(int line, const std::vector<Tool>& tools, const WorkerOptions& options)
      : line_(line), tools_(tools), engine_(options.engine ? options.engine() : Engine()) {}

  void run() {
    wait_for_stop();
    while (const auto text = line_.receive()) {
      const std::optional<WorkerMessage> message = read_worker_message(*text);
      if (!message || message->kind != WorkerMessageKind::call) return;
      const Result<WorkerRequest> request = read_worker_request(message->text);
      if (!request) return;
      call_of_worker = message->call;
      const std::string answered = answer(*request, message->call);
      // A handler forked, and this is the child: the line is its parent's.
      if (mark_.is_of_parent_process()) return;
      // Processes that a call has started end with the call: this process ends, and the process supervisor kills them.
      const bool is_last = has_children() || members_.has_others() || !cpu_limit_.allows_another_call();
      call_of_worker = 0;
      const auto kind = is_last ? WorkerMessageKind::last_answer : WorkerMessageKind::answer;
      if (!line_.send(kind, message->call, answered) || is_last) return;
    }
  }

 private:
  // SIGTERM asks the handler to stop, as the deadline does in a thread.
  void wait_for_stop() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    try {
      std::thread([this, signals] { request_stop_at_signal(signals); }).detach();
    } catch (const std::system_error&) {
      // Without a thread SIGTERM ends the process at once.
      pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    }
  }

  void request_stop_at_signal(const sigset_t& signals) {
    int received = 0;
    while (sigwait(&signals, &received) != 0) {
    }
    std::shared_ptr<CallContext> context;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      context = context_;
    }
    if (context) context->stop.request_stop();
  }

  // Including orphans, which are reparented to this process.
  static bool has_children() {
    pid_t reaped = 0;
    do {
      reaped = waitpid(-1, nullptr, WNOHANG | __WALL);
    } while (reaped > 0);
    return reaped == 0;
  }

  std::string answer(const WorkerRequest& request, std::uint64_t id) {
    const ToolOutcome outcome = outcome_of(request, id);
    Result<std::string> text = write_outcome(outcome);
    if (!text) text = write_outcome(unwritable(request.call, outcome, text.error()));
    if (text->size() > request.max_output) {
      text = write_outcome(failed(request.call, ToolError::Reason::invalid_return,
                                  "the handler of tool '" + request.call.name + "' answered with " +
                                      std::to_string(text->size()) + " bytes; its limit is " +
                                      std::to_string(request.max_output)));
    }
    return *std::move(text);
  }

  // The same error as the runner's for an outcome that cannot be written.
  ToolFailure unwritable(const ToolCall& call, const ToolOutcome& outcome, const Error& error) const {
    if (std::holds_alternative<AskUser>(outcome)) return {invalid_question_error(call)};
    return {unwritable_result_error(call, error.message())};
  }

  ToolOutcome outcome_of(const WorkerRequest& request, std::uint64_t id) {
    auto run = std::make_shared<Run>();
    run->engine = engine_;
    run->options.session_id = request.session_id;
    run->request_id = request.request_id;
    run->trace = request.trace;
    run->context = std::make_shared<const Json>(request.context);
    const auto state = std::make_shared<CallContext>(std::move(run), request, id, line_);
    {
      const std::lock_guard lock(mutex_);
      context_ = state;
      if (stopped_) state->stop.request_stop();
    }
    if (request.cpu_time) cpu_limit_.begin_call(*request.cpu_time);
    auto slot = std::make_shared<Answer::Slot>();
    {
      const ToolCompletion done(std::make_shared<Answer>(slot));
      run_guarded(request.call, done, [&] { call_handler(request, ToolContext(state), done); });
    }
    std::unique_lock lock(slot->mutex);
    slot->there.wait(lock, [&] { return slot->outcome || slot->lost; });
    state->end();
    if (slot->outcome) return *std::move(slot->outcome);
    return ToolFailure{no_answer_error(request.call)};
  }

  void call_handler(const WorkerRequest& request, const ToolContext& context, const ToolCompletion& done) {
    if (!request.entry.empty()) {
      const auto entry = entries().find(request.entry);
      if (entry != entries().end()) return entry->second(request.data, request.arguments, context, done);
    } else {
      const auto tool = std::ranges::find(tools_, request.call.name, &Tool::name);
      if (tool != tools_.end() && tool->handler) return tool->handler(request.arguments, context, done);
    }
    done(failed(request.call, ToolError::Reason::not_found,
                "tool '" + request.call.name +
                    "' has no handler in the worker: give it to run_as_worker_if_asked under this name"));
  }

  Line line_;
  const JobMembers members_;
  const std::vector<Tool>& tools_;
  const Engine engine_;
  std::mutex mutex_;
  std::shared_ptr<CallContext> context_;
  bool stopped_ = false;
  CpuLimit cpu_limit_;
  const ForkMark mark_;
};

}  // namespace

std::uint64_t current_worker_call() { return call_of_worker; }

void register_worker_entry(std::string name, WorkerEntry entry) { entries()[std::move(name)] = std::move(entry); }

void run_worker(int line, const std::vector<Tool>& tools, const WorkerOptions& options) {
  fcntl(line, F_SETFD, FD_CLOEXEC);
  count_forks();
  {
    const NoForkNow guard;
    hide_from_children(line);
  }
  prctl(PR_SET_NAME, "allm-worker");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  line_of_worker = line;
  std::set_new_handler(&end_for_lack_of_memory);
  WorkerProcess(line, tools, options).run();
  // Without destructors: a thread that a handler left may still be using what they destroy.
  _exit(0);
}

}  // namespace allm
