#include "lanes/command_call.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "data/read_file.hpp"
#include "data/tool_errors.hpp"
#include "data/utf8_repair.hpp"
#include "lanes/command_line.hpp"
#include "lanes/outcome_json.hpp"
#include "runtime/function_task.hpp"
#include "runtime/no_broken_pipes.hpp"

namespace allm {
namespace {

bool is_failure(const Command& command, int status) {
  return std::ranges::find(command.failure_statuses, status) != command.failure_statuses.end();
}

std::string without_line_end(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace

void CommandCall::Pipe::ready(int /*fd*/, unsigned /*events*/) noexcept {
  const auto kept = call_.shared_from_this();
  ((*kept).*move_on_)();
}

CommandCall::CommandCall(std::shared_ptr<Loop> loop, std::shared_ptr<Supervisor> supervisor, const ToolContext& context,
                         ToolCompletion done, Command command, const ToolLimits& tool_limits, Json arguments)
    : LaneCall(loop, context, std::move(done), tool_limits),
      loop_(std::move(loop)),
      supervisor_(std::move(supervisor)),
      command_(std::move(command)),
      arguments_(std::move(arguments)),
      input_(*this, &CommandCall::feed),
      output_(*this, &CommandCall::read) {}

bool CommandCall::start_now() {
  if (!supervisor_->is_running()) return false;
  launch();
  return true;
}

void CommandCall::start() {
  await(false);
  launch();
}

void CommandCall::launch() {
  auto argv = expand_command(command_, arguments_);
  if (!argv) {
    return fail(ToolError::Reason::invalid_arguments, "tool '" + tool_name + "' was not run: " + argv.error());
  }
  JobRequest request{.argv = *std::move(argv),
                     .environment = command_environment(command_),
                     .directory = command_.directory,
                     .limits = limits,
                     .fds = {STDOUT_FILENO},
                     .needs_error_output = is_failure(command_, 0)};
  if (!idempotency_key.empty()) request.environment.push_back("ALLM_IDEMPOTENCY_KEY=" + idempotency_key);
  if (const auto fits = check_size(request); !fits) {
    return fail(ToolError::Reason::invalid_arguments, "tool '" + tool_name + "' was not run: " + fits.error());
  }
  HiddenFd their_output;
  HiddenFd their_input;
  bool piped = make_pipe(output_.fd, their_output);
  std::vector<int> fds = {their_output.get()};
  if (command_.input == CommandInput::json) {
    Result<std::string> text = write_json(arguments_);
    if (!text) return fail(ToolError::Reason::invalid_arguments, text.error().message());
    to_write_ = *std::move(text);
    piped = piped && make_pipe(their_input, input_.fd);
    request.fds.push_back(STDIN_FILENO);
    fds.push_back(their_input.get());
  }
  if (!piped) return fail(ToolError::Reason::handler_exit, "no pipe could be made: " + errno_text(errno));
  for (const int fd : {output_.fd.get(), input_.fd.get()}) {
    if (fd >= 0) fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  const auto job = supervisor_->start(std::move(request), fds, shared_from_this());
  if (!job) {
    return fail(ToolError::Reason::handler_exit,
                "the command of tool '" + tool_name + "' could not be started: " + job.error());
  }
  job_ = *job;
  // Deferred, because the thread that waits for the call will drive the loop, or make the loop thread do it.
  loop_->post_deferred(function_task([self = shared_from_this()] { self->watch(); }));
  on_stop_.emplace(stop_token, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->mark_.is_of_parent_process()) return;
    self->supervisor_->stop(self->job_, self->limits.grace);
    self->abandon();
  });
}

void CommandCall::watch() {
  if (output_.fd) loop_->watch(output_.fd.get(), EPOLLIN, output_);
  if (input_.fd) loop_->watch(input_.fd.get(), EPOLLOUT, input_);
}

void CommandCall::close_pipe(Pipe& pipe) {
  if (!pipe.fd) return;
  loop_->unwatch(pipe.fd.get());
  pipe.fd.reset();
}

void CommandCall::feed() {
  if (!input_.fd) return;
  const NoBrokenPipes guard;
  const std::string_view rest = std::string_view(to_write_).substr(fed_);
  const ssize_t sent = ::write(input_.fd.get(), rest.data(), rest.size());
  if (sent > 0) fed_ += static_cast<std::size_t>(sent);
  const bool broken = sent < 0 && errno != EAGAIN && errno != EINTR;
  // A program need not read all of it.
  if (fed_ < to_write_.size() && !broken) return;
  close_pipe(input_);
  std::string().swap(to_write_);
}

void CommandCall::read() {
  constexpr int kMostReads = 4;  // then other descriptors get their turn
  for (int i = 0; i < kMostReads && output_.fd; ++i) {
    if (!read_some()) return;
  }
}

bool CommandCall::read_some() {
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(output_.fd.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    close_pipe(output_);
    return false;
  }
  const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
  if (text.size() > limits.output - std::min<std::size_t>(written_.size(), limits.output)) {
    is_too_long_ = true;
    close_pipe(output_);
    kill();
    return false;
  }
  written_ += text;
  show_progress(text);
  return true;
}

void CommandCall::show_progress(std::string_view text) {
  if (text.find('\n') == std::string_view::npos) return;
  const std::size_t end = written_.rfind('\n') + 1;
  if (end <= shown_) return;
  progress({{"output", repair_utf8(std::string_view(written_).substr(shown_, end - shown_))}});
  shown_ = end;
}

void CommandCall::kill() { supervisor_->stop(job_, std::chrono::milliseconds(0)); }

void CommandCall::job_ended(const JobEnd& end) noexcept {
  // All output of the program has arrived by now. A child of the program that keeps the pipe open is not waited for.
  while (output_.fd && read_some()) {
  }
  close_pipe(output_);
  close_pipe(input_);
  answer(outcome_of(end));
}

ToolOutcome CommandCall::outcome_of(const JobEnd& end) {
  const auto failed = [this](ToolError::Reason reason, std::string message, Json metadata = Json::object()) {
    return ToolFailure{tool_error(tool_name, tool_call_id, reason, std::move(message), std::move(metadata))};
  };
  if (is_too_long_) {
    return failed(ToolError::Reason::handler_exit,
                  "the command of tool '" + tool_name + "' was killed: it wrote more than " +
                      std::to_string(limits.output) + " bytes",
                  {{"output", limits.output}});
  }
  if (end.status && is_failure(command_, *end.status)) {
    std::string reason = repair_utf8(without_line_end(std::move(written_)));
    return failure(reason.empty() ? Json(end.error_output) : Json(std::move(reason)));
  }
  if (end.status != 0) return end_failure("command", end);
  if (command_.output == CommandOutput::text) return ok(repair_utf8(without_line_end(std::move(written_))));
  Result<Json> json = parse_json(written_);
  if (!json) {
    return failed(ToolError::Reason::invalid_return,
                  "the command of tool '" + tool_name + "' wrote no JSON: " + json.error().message());
  }
  if (command_.output == CommandOutput::json) return ok(*std::move(json));
  Result<ToolOutcome> outcome = read_outcome(*json, false);
  if (outcome) return *std::move(outcome);
  return failed(ToolError::Reason::invalid_return,
                "the command of tool '" + tool_name + "' wrote no outcome: " + outcome.error().message());
}

}  // namespace allm
