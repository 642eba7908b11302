// One call of a command.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "lanes/lane_call.hpp"
#include "process/fd.hpp"
#include "process/supervisor.hpp"

namespace allm {

// Writes a program's input, reads its output and turns the output into an outcome. Started once. Shared: the runner
// holds it, and the process supervisor holds it until the program has ended.
class CommandCall : public LaneCall, public JobListener, public std::enable_shared_from_this<CommandCall> {
 public:
  CommandCall(std::shared_ptr<Loop> loop, std::shared_ptr<Supervisor> supervisor, const ToolContext& context,
              ToolCompletion done, Command command, const ToolLimits& tool_limits, Json arguments);

  bool start_now() override;
  void start() override;

  void job_ended(const JobEnd& end) noexcept override;

 private:
  // One of the program's pipes.
  class Pipe : public Watcher {
   public:
    Pipe(CommandCall& call, void (CommandCall::*move_on)()) : call_(call), move_on_(move_on) {}
    void ready(int fd, unsigned events) noexcept override;
    HiddenFd fd;

   private:
    CommandCall& call_;
    void (CommandCall::* const move_on_)();
  };

  void launch();
  void watch();
  void feed();
  void read();
  // Reads once; false if nothing more can be read now.
  bool read_some();
  void close_pipe(Pipe& pipe);
  void show_progress(std::string_view text);
  void kill();
  ToolOutcome outcome_of(const JobEnd& end);

  const ForkMark mark_;
  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<Supervisor> supervisor_;
  const Command command_;
  const Json arguments_;
  Pipe input_;
  Pipe output_;
  std::string to_write_;
  std::size_t fed_ = 0;  // bytes of to_write_ that the program's pipe has taken
  std::string written_;  // by the program
  std::size_t shown_ = 0;
  bool is_too_long_ = false;
  std::atomic<std::uint64_t> job_ = 0;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace allm
