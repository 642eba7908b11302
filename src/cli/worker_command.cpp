#include "cli/worker_command.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iterator>
#include <memory>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "cli/command_engine.hpp"
#include "cli/user_store.hpp"
#include "stores/work/session_worker.hpp"

namespace allm::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Written by the signal handler and by the worker when it ends, read by the main thread.
int worker_events = -1;

void wake_worker_command() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(worker_events, &one, sizeof one));
}

void on_worker_signal(int) {
  const int saved = errno;
  wake_worker_command();
  errno = saved;
}

bool catch_worker_signals() {
  worker_events = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  if (worker_events < 0) return false;
  struct sigaction action{};
  action.sa_handler = on_worker_signal;
  action.sa_flags = SA_RESTART;
  return sigaction(SIGTERM, &action, nullptr) == 0 && sigaction(SIGINT, &action, nullptr) == 0;
}

// Blocks until an event or `deadline`. False at the deadline.
bool wait_for_worker_event(Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{.fd = worker_events, .events = POLLIN, .revents = 0};
    constexpr std::int64_t kLongestPoll = 3'600'000;
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left.count(), kLongestPoll)));
    if (ready <= 0) continue;
    std::uint64_t count = 0;
    static_cast<void>(!read(worker_events, &count, sizeof count));
    return true;
  }
}

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

Json worked_job_json(const WorkedJob& worked) {
  Json json = {{"job_id", worked.job.id},
               {"session_id", worked.job.session_id},
               {"tenant", worked.job.tenant},
               {"attempt", worked.job.attempt},
               {"ms", worked.took.count()}};
  if (worked.status) json["status"] = to_string(*worked.status);
  if (worked.is_given_up()) json["given_up"] = true;
  if (worked.error) json["error"] = {{"reason", worked.error->reason()}, {"message", worked.error->message()}};
  return json;
}

std::string worked_job_line(const WorkedJob& worked) {
  std::string outcome(to_string(worked.status.value_or(SessionStatus::idle)));
  if (worked.is_given_up()) {
    outcome = "given up: " + printable(worked.job.last_error);
  } else if (worked.error) {
    outcome = "failed: " + printable(worked.error->message());
  }
  return fmt::format("job {} session {} tenant \"{}\" attempt {}: {} in {} ms", worked.job.id,
                     printable(worked.job.session_id), printable(worked.job.tenant), worked.job.attempt, outcome,
                     worked.took.count());
}

SessionWorkerOptions worker_options(const WorkerArguments& arguments, std::shared_ptr<BudgetLedger> budget,
                                    const Terminal& out, const Terminal& errors) {
  CallOptions call;
  call.budget = std::move(budget);
  call.max_tokens = arguments.max_tokens;
  call.max_turns = arguments.max_turns;
  return {.jobs = arguments.jobs,
          .claim = {.lease = milliseconds_of(arguments.lease_seconds), .max_per_tenant = arguments.max_per_tenant},
          .until_empty = arguments.until_empty,
          .call = std::move(call),
          .on_job =
              [&out, json = arguments.json](const WorkedJob& worked) {
                out.write((json ? write_json(worked_job_json(worked)).value_or("{}") : worked_job_line(worked)) + "\n");
              },
          .on_store_error =
              [&errors](const Error& error) { errors.write("allm worker: " + printable(error.message()) + "\n"); },
          .on_end = wake_worker_command};
}

int fail_worker(const Terminal& errors, const std::string& message) {
  errors.write(errors.paint(Style::red, "allm worker: ") + printable(message) + "\n");
  return 1;
}

// Waits for the end of the worker, or for a signal and then for the grace time.
void supervise(SessionWorker& worker, std::chrono::milliseconds grace, const Terminal& errors) {
  // Not Clock::time_point::max(), with which differences overflow.
  while (!wait_for_worker_event(Clock::now() + std::chrono::hours(24))) {
  }
  if (worker.has_ended()) return;
  errors.write("allm worker: finishing the sessions that are running\n");
  worker.stop();
  wait_for_worker_event(Clock::now() + grace);
  if (worker.has_ended()) return;
  errors.write(fmt::format("allm worker: released {} sessions; other workers resume them\n", worker.release_jobs()));
  // The threads are in tools or model calls that may take any time. Their runs cannot write any more.
  _exit(0);
}

}  // namespace

int worker_command(const WorkerArguments& arguments, const Terminal& out, const Terminal& errors) {
  auto store = open_user_store(arguments.store);
  if (!store) return fail_worker(errors, store.error().message());
  auto engine = command_engine(arguments.model, arguments.base_url, arguments.tools);
  if (!engine) return fail_worker(errors, engine.error().message());
  std::shared_ptr<BudgetLedger> budget;
  if (arguments.budget) {
    auto opened = open_budget(*store, *arguments.budget);
    if (!opened) return fail_worker(errors, opened.error().message());
    budget = *std::move(opened);
  }
  if (!catch_worker_signals()) return fail_worker(errors, "signals cannot be handled");
  SessionRunner runner(*std::move(engine), *store,
                       {.lease = milliseconds_of(arguments.lease_seconds), .log_events = true});
  SessionWorker worker(std::move(runner), *store, worker_options(arguments, std::move(budget), out, errors));
  supervise(worker, milliseconds_of(arguments.grace_seconds), errors);
  return 0;
}

CommandSpec worker_spec() {
  auto arguments = std::make_shared<WorkerArguments>();
  CommandSpec spec{
      .name = "worker",
      .summary = "Run the sessions that messages are submitted for",
      .description =
          "Runs until SIGTERM or SIGINT. Any number of workers, on any number of machines, can use one store. When a "
          "worker dies, the others resume its sessions after the lease: finished tool calls and model calls are not "
          "made "
          "again, and a tool call that was interrupted is not repeated.",
      .examples = {{"allm worker -m openai:gpt-4.1-mini -t tools.toml",
                    "Run what is submitted to the user's own store."}},
      .exit_codes = {{0, "It was ended by a signal, or the queue is empty."},
                     {1, "It could not start."},
                     {2, "The command line is wrong."}},
      .sections = {{.title = "Signals",
                    .entries = {{"SIGTERM, SIGINT",
                                 "It claims no more jobs and finishes those that are running. After the "
                                 "grace time, or at a second signal, it releases the others, which "
                                 "other workers resume."}}},
                   models_section()}};
  spec.options = engine_options(arguments->model, arguments->base_url, arguments->tools);
  spec.options.insert(spec.options.begin(), store_option(arguments->store));
  const OptionSpec more[] = {
      {.names = "-j,--jobs",
       .value = "N",
       .help = "Sessions that run at once.",
       .target = &arguments->jobs,
       .minimum = 1,
       .maximum = 256,
       .show_default = true},
      {.names = "--max-per-tenant",
       .value = "N",
       .help = "Sessions of one tenant that run at once, in all workers.",
       .target = &arguments->max_per_tenant,
       .minimum = 1},
      {.names = "--max-turns",
       .value = "N",
       .help = "The most model calls of a run.",
       .target = &arguments->max_turns,
       .minimum = 1,
       .maximum = 1000,
       .show_default = true},
      {.names = "--budget",
       .value = "NAME",
       .help = "The budget of the store that all runs share (allm budgets create).",
       .target = &arguments->budget},
      {.names = "--max-tokens",
       .value = "N",
       .help = "The longest answer of a model call, which a budget reserves.",
       .target = &arguments->max_tokens,
       .minimum = 1},
      {.names = "--lease",
       .value = "SECONDS",
       .help = "After how long other workers take over when this one has died.",
       .target = &arguments->lease_seconds,
       .minimum = 1,
       .maximum = 86'400,
       .show_default = true},
      {.names = "--grace",
       .value = "SECONDS",
       .help = "How long running sessions may take after SIGTERM or SIGINT.",
       .target = &arguments->grace_seconds,
       .minimum = 0,
       .maximum = 86'400,
       .show_default = true},
      {.names = "--until-empty", .help = "End when the queue has no jobs left.", .target = &arguments->until_empty},
      {.names = "--json", .help = "Print a JSON line for each job.", .target = &arguments->json}};
  spec.options.insert(spec.options.end(), std::begin(more), std::end(more));
  spec.run = [arguments](const CommandContext& context) {
    return worker_command(*arguments, context.out, context.errors);
  };
  return spec;
}

}  // namespace allm::cli
