#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cli/files.hpp"
#include "cli/sessions_command.hpp"

namespace allm::cli {
namespace {

// A session, and the number of the last entry of its log.
struct SubmitTarget {
  StoredSession stored;
  std::int64_t last_number = 0;
};

Result<SubmitTarget> submit_target(Store& store, const SubmitArguments& arguments) {
  if (arguments.id.empty()) {
    Session session;
    if (arguments.system) session.thread.messages.push_back(system(*arguments.system));
    auto created = store.create({.session = std::move(session), .tenant = arguments.tenant});
    if (!created) return std::unexpected(created.error());
    return SubmitTarget{*std::move(created)};
  }
  auto stored = store.load(arguments.id);
  if (!stored) return std::unexpected(stored.error());
  std::int64_t last = 0;
  for (std::size_t count = 1; count > 0;) {
    constexpr std::size_t kPage = 1'000;
    const auto entries = store.read_log(arguments.id, last, kPage, "facts");
    if (!entries) return std::unexpected(entries.error());
    count = entries->size();
    if (count > 0) last = entries->back().number;
  }
  return SubmitTarget{*std::move(stored), last};
}

// A session that waits is answered in the version that was seen here, so that it is not answered twice.
void add_epoch(Json& order, const StoredSession& stored, const SubmitArguments& arguments) {
  const SessionStatus status = stored.session.status;
  const bool waits = status == SessionStatus::awaiting_user || status == SessionStatus::awaiting_tools;
  if (arguments.epoch) {
    order["epoch"] = *arguments.epoch;
  } else if (waits && !order.contains("epoch")) {
    order["epoch"] = stored.version;
  }
}

Result<Json> order_of(const SubmitArguments& arguments, std::FILE* input) {
  if (!arguments.order) return Json{{"message", arguments.text == "-" ? read_input(input) : arguments.text}};
  auto order = parse_json(*arguments.order);
  if (!order || order->is_object()) return order;
  return std::unexpected(validation_error(ValidationError::Reason::invalid_request, {"order"}, "invalid_type",
                                          "the order is not an object"));
}

void report_submitted(const std::string& id, std::int64_t job, std::int64_t after, const SessionsOutput& output) {
  if (output.json) {
    output.out.write(write_json({{"session_id", id}, {"job_id", job}, {"after", after}}).value_or("{}") + "\n");
  } else {
    output.out.write(printable(id) + "\n");
    output.errors.write(fmt::format("job {}; follow it with: allm sessions follow {} --after {} --job {}\n", job,
                                    printable(id), after, job));
  }
}

}  // namespace

int submit_message(Store& store, const SubmitArguments& arguments, std::FILE* input, const SessionsOutput& output) {
  auto order = order_of(arguments, input);
  if (!order) return fail_sessions(output, order.error().message());
  const auto target = submit_target(store, arguments);
  if (!target) return fail_sessions(output, target.error().message());
  add_epoch(*order, target->stored, arguments);
  const std::string id = target->stored.session.id.value_or("");
  const auto milliseconds_of = [](double seconds) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
  };
  const auto job = store.submit({.session_id = id,
                                 .order = *std::move(order),
                                 .priority = arguments.priority,
                                 .delay = milliseconds_of(arguments.delay_seconds),
                                 .max_attempts = arguments.attempts,
                                 .retry_delay = milliseconds_of(arguments.retry_delay_seconds)});
  if (!job) return fail_sessions(output, job.error().message());
  report_submitted(id, *job, target->last_number, output);
  if (!arguments.follow) return 0;
  return follow_session(store, {.id = id, .after = target->last_number, .job = *job}, output);
}

CommandSpec submit_spec() {
  auto arguments = std::make_shared<SubmitArguments>();
  CommandSpec spec{
      .name = "submit",
      .summary = "Submit a message for a session; a worker runs it",
      .description =
          "Prints the id of the session. If the session waits for an answer, the message answers the current "
          "question, once."};
  spec.options = {
      {.names = "text", .value = "TEXT", .help = "The message. - reads standard input.", .target = &arguments->text},
      {.names = "--session",
       .value = "ID",
       .help = "The session. Default: a new one.",
       .target = &arguments->id,
       .completion = Completion::sessions},
      {.names = "-s,--system",
       .value = "TEXT",
       .help = "Instructions for the model, in a new session.",
       .target = &arguments->system},
      {.names = "--tenant", .value = "NAME", .help = "The tenant of a new session.", .target = &arguments->tenant},
      {.names = "--order",
       .value = "JSON",
       .help = "What the worker is to do, as JSON, instead of a message: start, results or decisions.",
       .target = &arguments->order},
      {.names = "--epoch",
       .value = "N",
       .help = "The version of the session that is answered; it is refused if the session has changed since. Default: "
               "the current one if the session waits for an answer.",
       .target = &arguments->epoch},
      {.names = "--priority",
       .value = "N",
       .help = "A message with a higher one comes first.",
       .target = &arguments->priority,
       .show_default = true},
      {.names = "--delay",
       .value = "SECONDS",
       .help = "Do not run it before this time has passed.",
       .target = &arguments->delay_seconds,
       .minimum = 0},
      {.names = "--attempts",
       .value = "N",
       .help = "How many attempts may fail, because workers die, until the job is given up; 0: any number.",
       .target = &arguments->attempts,
       .minimum = 0,
       .maximum = 1'000'000,
       .show_default = true},
      {.names = "--retry-delay",
       .value = "SECONDS",
       .help = "How long the job waits after the first failed attempt; then twice as long each time.",
       .target = &arguments->retry_delay_seconds,
       .minimum = 0,
       .maximum = 600,
       .show_default = true},
      {.names = "-f,--follow", .help = "Show the run while it goes on.", .target = &arguments->follow}};
  spec.check = [arguments]() -> std::optional<std::string> {
    if (arguments->text.empty() && !arguments->order) return "TEXT or --order is missing";
    if (!arguments->text.empty() && arguments->order) return "TEXT and --order exclude each other";
    return std::nullopt;
  };
  return on_store(std::move(spec), [arguments](Store& store, const SessionsOutput& output, std::FILE* in) {
    return submit_message(store, *arguments, in, output);
  });
}

}  // namespace allm::cli
