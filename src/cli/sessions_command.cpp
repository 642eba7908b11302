#include "cli/sessions_command.hpp"

#include <array>
#include <ctime>
#include <memory>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "allm/serialize.hpp"

#include "cli/user_store.hpp"
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

std::vector<OptionSpec> page_options(SessionQuery& query, bool& all) {
  std::vector<OptionSpec> options = filter_options(query);
  options.push_back({.names = "-n,--limit",
                     .value = "N",
                     .help = "How many sessions are shown.",
                     .target = &query.limit,
                     .minimum = 1,
                     .maximum = 1000,
                     .show_default = true});
  options.push_back({.names = "-a,--all", .help = "Show all sessions.", .target = &all});
  return options;
}

CommandSpec list_spec() {
  struct Arguments {
    SessionQuery query;
    bool all = false;
  };
  auto arguments = std::make_shared<Arguments>();
  return on_store({.name = "list",
                   .summary = "List sessions; the one that changed last comes first",
                   .options = page_options(arguments->query, arguments->all)},
                  [arguments](Store& store, const SessionsOutput& output, std::FILE*) {
                    return list_sessions(store, arguments->query, arguments->all, output);
                  });
}

CommandSpec search_spec() {
  struct Arguments {
    SessionQuery query;
    std::vector<std::string> words;
    bool all = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CommandSpec spec{.name = "search",
                   .summary = "List the sessions whose messages contain all words",
                   .options = page_options(arguments->query, arguments->all)};
  spec.options.push_back({.names = "words",
                          .value = "WORD",
                          .help = "Words; case does not matter.",
                          .target = &arguments->words,
                          .required = true});
  return on_store(std::move(spec), [arguments](Store& store, const SessionsOutput& output, std::FILE*) {
    for (const std::string& word : arguments->words) arguments->query.text += word + " ";
    return list_sessions(store, arguments->query, arguments->all, output);
  });
}

CommandSpec show_spec() {
  auto id = std::make_shared<std::string>();
  return on_store(
      {.name = "show",
       .summary = "Show a session",
       .description = "Shows its messages; with --json, prints the session in the session format.",
       .options = {id_argument(id.get(), "The session.")}},
      [id](Store& store, const SessionsOutput& output, std::FILE*) { return show_session(store, *id, output); });
}

CommandSpec delete_spec() {
  auto ids = std::make_shared<std::vector<std::string>>();
  return on_store(
      {.name = "delete",
       .summary = "Delete sessions, with their logs and jobs",
       .options = {id_argument(ids.get(), "The sessions.")}},
      [ids](Store& store, const SessionsOutput& output, std::FILE*) { return delete_sessions(store, *ids, output); });
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

std::vector<OptionSpec> filter_options(SessionQuery& query) {
  constexpr std::array kStatuses = {SessionStatus::idle, SessionStatus::completed, SessionStatus::awaiting_user,
                                    SessionStatus::awaiting_tools, SessionStatus::error};
  OptionSpec status{.names = "--status", .help = "Only sessions with this status."};
  for (const SessionStatus each : kStatuses) status.choices.emplace_back(to_string(each));
  status.target = std::function<void(const std::string&)>([&query, kStatuses](const std::string& name) {
    for (const SessionStatus each : kStatuses) {
      if (to_string(each) == name) query.status = each;
    }
  });
  return {std::move(status),
          {.names = "--tenant", .value = "NAME", .help = "Only sessions of this tenant.", .target = &query.tenant}};
}

OptionSpec id_argument(OptionTarget target, std::string help) {
  return {.names = "id",
          .value = "ID",
          .help = std::move(help),
          .target = std::move(target),
          .required = true,
          .completion = Completion::sessions};
}

CommandSpec on_store(CommandSpec spec, StoreWork work) {
  struct Arguments {
    std::string url;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  spec.options.push_back(store_option(arguments->url));
  spec.options.push_back({.names = "--json", .help = "Print JSON lines.", .target = &arguments->json});
  spec.run = [arguments, work = std::move(work)](const CommandContext& context) {
    const SessionsOutput output{.out = context.out, .errors = context.errors, .json = arguments->json};
    const auto store = open_user_store(arguments->url);
    return store ? work(**store, output, context.in) : fail_sessions(output, store.error().message());
  };
  if (spec.exit_codes.empty()) {
    spec.exit_codes = {{0, "Success."}, {1, "The store refused an operation."}, {2, "The command line is wrong."}};
  }
  return spec;
}

CommandSpec sessions_spec() {
  CommandSpec spec{.name = "sessions",
                   .summary = "Work with the sessions of a store",
                   .description = "A worker (allm worker) runs the sessions that messages are submitted for.",
                   .examples = {{"allm sessions submit --follow \"Plan a trip to Lisbon.\"",
                                 "Submit a message for a new session and show its run."},
                                {"allm sessions list --status awaiting_user", "Which sessions wait for an answer?"}}};
  spec.commands.push_back(submit_spec());
  spec.commands.push_back(follow_spec());
  spec.commands.push_back(list_spec());
  spec.commands.push_back(search_spec());
  spec.commands.push_back(show_spec());
  spec.commands.push_back(delete_spec());
  spec.commands.push_back(export_spec());
  spec.commands.push_back(import_spec());
  return spec;
}

}  // namespace allm::cli
