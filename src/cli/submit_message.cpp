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

}  // namespace allm::cli
