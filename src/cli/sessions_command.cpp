#include "cli/sessions_command.hpp"

#include <ctime>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "allm/serialize.hpp"

#include "stores/journal/job_end.hpp"

namespace allm::cli {
namespace {

std::string time_text(StoreTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(seconds));
}

Json summary_json(const SessionSummary& summary) {
  return {{"id", summary.id},
          {"title", summary.title},
          {"status", to_string(summary.status)},
          {"tenant", summary.tenant},
          {"version", summary.version},
          {"messages", summary.messages},
          {"created_at", summary.created_at.time_since_epoch().count()},
          {"updated_at", summary.updated_at.time_since_epoch().count()}};
}

std::string summary_line(const SessionSummary& summary) {
  return fmt::format("{}  {}  {:<14}  {:>5}  {}", printable(summary.id), time_text(summary.updated_at),
                     to_string(summary.status), summary.messages, printable(summary.title));
}

void write_message(const Message& message, const SessionsOutput& output) {
  const std::string text = message.text();
  output.out.write(output.out.paint(Style::bold, std::string(to_string(message.role)) + ":") + " " +
                   printable_lines(text) + "\n");
  for (const ToolCall& call : message.tool_calls) {
    const std::string arguments = call.arguments.dump(-1, ' ', false, Json::error_handler_t::replace);
    output.out.write(output.out.paint(Style::dim, printable("  -> " + call.name + " " + arguments)) + "\n");
  }
}

// The member of the metadata that a session has after one of its jobs was given up, or null.
Json given_up_of(const Session& session) {
  if (session.status != SessionStatus::error || !session.metadata.is_object()) return nullptr;
  return session.metadata.value(kGivenUp, Json(nullptr));
}

void write_session(const StoredSession& stored, const SessionsOutput& output) {
  const Session& session = stored.session;
  output.out.write(fmt::format("session {}\nstatus {}, version {}, tenant \"{}\"\ncreated {} UTC, changed {} UTC\n\n",
                               printable(session.id.value_or("")), to_string(session.status), stored.version,
                               printable(stored.tenant), time_text(stored.created_at), time_text(stored.updated_at)));
  for (const Message& message : session.thread.messages) write_message(message, output);
  if (const Json given_up = given_up_of(session); !given_up.is_null()) {
    output.out.write("\n" + output.out.paint(Style::red, printable(given_up_text(given_up))) + "\n");
  }
  if (session.pending_question) output.out.write("\nquestion: " + printable_lines(*session.pending_question) + "\n");
  for (const PendingToolCall& call : session.pending_tool_calls) {
    output.out.write(
        fmt::format("\npending ({}): {} {}\n", to_string(call.kind), printable(call.id), printable(call.name)));
  }
}

// Of a session that cannot be loaded.
void write_given_up_jobs(Store& store, const std::string& id, const SessionsOutput& output) {
  constexpr std::size_t kMostShown = 100;
  const auto entries = store.read_log(id, 0, kMostShown, "job_given_up");
  if (!entries) return;
  for (const LogEntry& entry : *entries) output.errors.write(printable(given_up_text(entry.body)) + "\n");
}

}  // namespace

std::string given_up_text(const Json& body) {
  const auto member = [&](const char* name) {
    const auto found = body.is_object() ? body.find(name) : body.end();
    return !body.is_object() || found == body.end() ? std::string("?")
           : found->is_string()                     ? found->get<std::string>()
                                                    : found->dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  return "job " + member("job") + " was given up at attempt " + member("attempts") + ": " + member("error");
}

int fail_sessions(const SessionsOutput& output, const std::string& message) {
  output.errors.write(output.errors.paint(Style::red, "allm sessions: ") + printable(message) + "\n");
  return 1;
}

int list_sessions(Store& store, SessionQuery query, bool all, const SessionsOutput& output) {
  do {
    const auto page = store.list(query);
    if (!page) return fail_sessions(output, page.error().message());
    for (const SessionSummary& summary : page->sessions) {
      output.out.write((output.json ? write_json(summary_json(summary)).value_or("{}") : summary_line(summary)) + "\n");
    }
    query.after = page->next;
  } while (all && !query.after.empty());
  if (!query.after.empty()) {
    output.errors.write("there are more sessions: --all shows them, --limit changes how many are shown\n");
  }
  return 0;
}

int show_session(Store& store, const std::string& id, const SessionsOutput& output) {
  const auto stored = store.load(id);
  if (!stored) {
    fail_sessions(output, stored.error().message());
    write_given_up_jobs(store, id, output);
    return 1;
  }
  if (!output.json) {
    write_session(*stored, output);
    return 0;
  }
  const auto text = to_json(stored->session);
  if (!text) return fail_sessions(output, text.error().message());
  output.out.write(*text + "\n");
  return 0;
}

int delete_sessions(Store& store, const std::vector<std::string>& ids, const SessionsOutput& output) {
  int code = 0;
  for (const std::string& id : ids) {
    if (const Status removed = store.remove(id); !removed) code = fail_sessions(output, removed.error().message());
  }
  return code;
}

}  // namespace allm::cli
