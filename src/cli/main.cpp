// The allm command. The only file that includes CLI11.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "allm/scenario.hpp"
#include "allm/workers.hpp"

#include "cli/ask_command.hpp"
#include "cli/demo_command.hpp"
#include "cli/sandbox_command.hpp"
#include "cli/scenario_command.hpp"
#include "cli/sessions_command.hpp"
#include "cli/terminal.hpp"
#include "cli/transcript_command.hpp"
#include "cli/user_store.hpp"
#include "cli/worker_command.hpp"

namespace {

constexpr int kUsageError = 2;

constexpr const char* kFooter =
    "Exit codes:\n"
    "  0  success\n"
    "  1  a scenario, a transcript or a run failed, or a store refused an operation\n"
    "  2  the command line is wrong, or no file or question was given";

void add_store_option(CLI::App* app, std::string& url) {
  app->add_option("--store", url,
                  "sqlite:PATH, postgresql://… or memory:. Default: $ALLM_STORE, else the user's own SQLite file")
      ->type_name("URL");
}

// The commands of `allm sessions`.
class SessionsApp {
 public:
  explicit SessionsApp(CLI::App& app) : app_(app.add_subcommand("sessions", "Work with the sessions of a store")) {
    app_->require_subcommand(1);
    app_->footer("A worker (allm worker) runs the sessions that messages are submitted for.");
    add_submit();
    add_follow();
    add_list();
    add_transfer();
  }
  bool parsed() const { return app_->parsed(); }

  int run(const allm::cli::Terminal& out, const allm::cli::Terminal& errors) {
    using namespace allm::cli;
    const SessionsOutput output{.out = out, .errors = errors, .json = json_};
    const auto store = open_user_store(url_);
    if (!store) return fail_sessions(output, store.error().message());
    if (submit_app_->parsed()) return submit_message(**store, submit_, stdin, output);
    if (follow_app_->parsed()) return follow_session(**store, follow_, output);
    if (show_app_->parsed()) return show_session(**store, ids_.front(), output);
    if (delete_app_->parsed()) return delete_sessions(**store, ids_, output);
    if (import_app_->parsed()) return import_files(**store, import_, stdin, output);
    if (export_app_->parsed()) return export_to_file(**store, query_, export_path_, output);
    return list_sessions(**store, query_, all_, output);
  }

 private:
  CLI::App* add(const char* name, const char* description) {
    CLI::App* sub = app_->add_subcommand(name, description);
    add_store_option(sub, url_);
    sub->add_flag("--json", json_, "Print JSON lines");
    return sub;
  }
  void add_submit() {
    submit_app_ = add("submit", "Submit a message for a session; a worker runs it");
    submit_app_->add_option("text", submit_.text, "The message; - reads standard input")->type_name("TEXT");
    submit_app_->add_option("--session", submit_.id, "The session. Default: a new one")->type_name("ID");
    submit_app_->add_option("-s,--system", submit_.system, "Instructions for the model, in a new session")
        ->type_name("TEXT");
    submit_app_->add_option("--tenant", submit_.tenant, "The tenant of a new session")->type_name("NAME");
    submit_app_->add_option("--order", submit_.order, "What the worker is to do, as JSON, instead of a message")
        ->type_name("JSON");
    submit_app_
        ->add_option("--epoch", submit_.epoch,
                     "The version of the session that is answered. Default: the current one if it waits for an answer")
        ->type_name("N");
    submit_app_->add_option("--priority", submit_.priority, "A higher one comes first")->type_name("N");
    submit_app_->add_option("--delay", submit_.delay_seconds, "Not before this time has passed")
        ->check(CLI::NonNegativeNumber)
        ->type_name("SECONDS");
    submit_app_
        ->add_option("--attempts", submit_.attempts,
                     "How many attempts may fail, because workers die, until the job is given up; 0: any number")
        ->check(CLI::Range(0, 1'000'000))
        ->type_name("N")
        ->capture_default_str();
    submit_app_
        ->add_option("--retry-delay", submit_.retry_delay_seconds,
                     "How long the job waits after the first failed attempt; then twice as long each time")
        ->check(CLI::Range(0.0, 600.0))
        ->type_name("SECONDS")
        ->capture_default_str();
    submit_app_->add_flag("-f,--follow", submit_.follow, "Show the run while it goes on");
    submit_app_->callback([this] {
      if (submit_.text.empty() == !submit_.order) throw CLI::ValidationError("submit", "needs TEXT or --order");
    });
  }
  void add_follow() {
    follow_app_ = add("follow", "Show a run while it goes on, from any process");
    follow_app_->add_option("id", follow_.id, "The session")->required()->type_name("ID");
    follow_app_->add_option("--after", follow_.after, "Show the entries of the log after this number")->type_name("N");
    follow_app_->add_option("--job", follow_.job, "End after the run of this job. Default: after the last run")
        ->type_name("N");
    follow_app_->add_flag("--stay", follow_.stay, "Wait for further runs");
  }
  void add_list() {
    list_app_ = add("list", "List sessions; the one that changed last comes first");
    search_app_ = add("search", "List the sessions whose messages contain all words");
    search_app_->add_option("words", words_, "Words; case does not matter")->required()->type_name("WORD");
    for (CLI::App* sub : {list_app_, search_app_}) {
      add_filters(sub);
      sub->add_option("-n,--limit", query_.limit, "How many sessions are shown")->check(CLI::Range(1, 1000));
      sub->add_flag("-a,--all", all_, "Show all sessions");
    }
    search_app_->callback([this] {
      for (const std::string& word : words_) query_.text += word + " ";
    });
    show_app_ = add("show", "Show a session");
    show_app_->add_option("id", ids_, "The session")->required()->expected(1)->type_name("ID");
    delete_app_ = add("delete", "Delete sessions, with their logs and jobs");
    delete_app_->add_option("id", ids_, "The sessions")->required()->type_name("ID");
  }
  void add_filters(CLI::App* sub) {
    using Status = allm::SessionStatus;
    sub->add_option("--status", query_.status, "Only sessions with this status")
        ->transform(CLI::CheckedTransformer(std::map<std::string, Status>{{"idle", Status::idle},
                                                                          {"completed", Status::completed},
                                                                          {"awaiting_user", Status::awaiting_user},
                                                                          {"awaiting_tools", Status::awaiting_tools},
                                                                          {"error", Status::error}}))
        ->option_text("idle|completed|awaiting_user|awaiting_tools|error");
    sub->add_option("--tenant", query_.tenant, "Only sessions of this tenant")->type_name("NAME");
  }
  void add_transfer() {
    export_app_ = add("export", "Write sessions as JSON lines");
    export_app_->add_option("-o,--output", export_path_, "A new file. Default: standard output")->type_name("FILE");
    add_filters(export_app_);
    import_app_ = add("import", "Read sessions: exported lines, session files");
    import_app_->add_option("file", import_.files, "Files; - reads standard input")->required()->type_name("FILE");
    import_app_->add_option("--tenant", import_.tenant, "The tenant of all imported sessions")->type_name("NAME");
    import_app_->add_flag("--replace", import_.replace, "Replace sessions that exist");
  }

  CLI::App* app_;
  CLI::App* submit_app_ = nullptr;
  CLI::App* follow_app_ = nullptr;
  CLI::App* list_app_ = nullptr;
  CLI::App* search_app_ = nullptr;
  CLI::App* show_app_ = nullptr;
  CLI::App* delete_app_ = nullptr;
  CLI::App* export_app_ = nullptr;
  CLI::App* import_app_ = nullptr;
  std::string url_;
  bool json_ = false;
  bool all_ = false;
  allm::cli::SubmitArguments submit_;
  allm::cli::FollowArguments follow_;
  allm::cli::ImportArguments import_;
  allm::SessionQuery query_;
  std::vector<std::string> words_;
  std::vector<std::string> ids_;
  std::string export_path_;
};

CLI::App* add_worker(CLI::App& app, allm::cli::WorkerArguments& worker) {
  CLI::App* sub = app.add_subcommand("worker", "Run the sessions that messages are submitted for");
  add_store_option(sub, worker.store);
  sub->add_option("-m,--model", worker.model, "provider:model, or provider@base_url:model")
      ->required()
      ->type_name("MODEL");
  sub->add_option("--base-url", worker.base_url, "Base URL of the provider's API")->type_name("URL");
  sub->add_option("-t,--tools", worker.tools, "A file of tools that the model may run; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  sub->add_option("-j,--jobs", worker.jobs, "Sessions that run at once")
      ->check(CLI::Range(1, 256))
      ->type_name("N")
      ->capture_default_str();
  sub->add_option("--max-per-tenant", worker.max_per_tenant, "Sessions of one tenant that run at once, in all workers")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  sub->add_option("--max-turns", worker.max_turns, "The most model calls of a run")
      ->check(CLI::Range(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  sub->add_option("--lease", worker.lease_seconds, "After how long other workers take over when this one has died")
      ->check(CLI::Range(1.0, 86'400.0))
      ->type_name("SECONDS")
      ->capture_default_str();
  sub->add_option("--grace", worker.grace_seconds, "How long running sessions may take after SIGTERM or SIGINT")
      ->check(CLI::Range(0.0, 86'400.0))
      ->type_name("SECONDS")
      ->capture_default_str();
  sub->add_flag("--until-empty", worker.until_empty, "End when the queue has no jobs left");
  sub->add_flag("--json", worker.json, "Print a JSON line for each job");
  sub->footer(
      "SIGTERM and SIGINT: claims no more jobs and finishes those that are running. After the grace time, or at a\n"
      "second signal, it releases the others, which other workers resume.");
  return sub;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace allm::cli;

  allm::register_scenario_workers();
  allm::run_as_worker_if_asked();

  CLI::App app("allm: one engine, any model, tools that run in parallel, conversations that are plain data.", "allm");
  app.set_version_flag("--version", std::string("allm ") + ALLM_VERSION, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.require_subcommand(1);
  app.footer(kFooter);

  ScenarioArguments scenario;
  std::vector<std::string> paths;
  CLI::App* scenario_app = app.add_subcommand("scenario", "Check scenario files: agent runs as data");
  scenario_app->add_option("path", paths, "Files, and directories to search for *.json")
      ->required()
      ->type_name("FILE|DIR");
  scenario_app->add_flag("--observe", scenario.observe, "Print the observations as JSON instead of checking them");
  scenario_app->add_flag("-q,--quiet", scenario.quiet, "Print only the numbers of passed and failed");
  scenario_app
      ->add_option(
          "--lane", scenario.lane,
          "Where tools run: in a thread, or in a worker process. Handlers that end their process always run in "
          "a worker")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, allm::Lane>{{"thread", allm::Lane::thread}, {"worker", allm::Lane::worker}}))
      ->option_text("thread|worker");
  scenario_app->add_option("-j,--jobs", scenario.jobs, "Files to check at once")
      ->check(CLI::Range(1, 256))
      ->type_name("N")
      ->capture_default_str();
  scenario_app->footer(
      "Ends with `N passed, M failed`; the exit code is 0 only if M is 0.\n"
      "The format of the files is described in docs/scenario-format.md.");

  TranscriptArguments transcript;
  std::vector<std::string> transcript_paths;
  CLI::App* transcript_app = app.add_subcommand("transcript", "Check transcripts: recorded exchanges with providers");
  transcript_app->add_option("path", transcript_paths, "Files, and directories to search for *.json")
      ->required()
      ->type_name("FILE|DIR");
  transcript_app->add_flag("-q,--quiet", transcript.quiet, "Print only the numbers of passed and failed");
  transcript_app->footer("Ends with `N passed, M failed`; the exit code is 0 only if M is 0.");

  AskArguments ask;
  CLI::App* ask_app = app.add_subcommand("ask", "Ask a model one question; the answer is streamed");
  ask_app->add_option("text", ask.text, "The question; piped input is added to it. - reads standard input")
      ->type_name("TEXT");
  ask_app->add_option("-m,--model", ask.model, "provider:model, or provider@base_url:model")
      ->required()
      ->type_name("MODEL");
  ask_app->add_option("--base-url", ask.base_url, "Base URL of the provider's API")->type_name("URL");
  ask_app->add_option("-s,--system", ask.system, "Instructions for the model")->type_name("TEXT");
  ask_app->add_option("-i,--image", ask.images, "An image for the model: a file or a URL; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE|URL");
  ask_app->add_option("-t,--tools", ask.tools, "A file of tools that the model may run; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  ask_app->add_option("--max-turns", ask.max_turns, "The most model calls of a run with tools")
      ->check(CLI::Range(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  ask_app->footer(
      "The key is taken from the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, …\n"
      "Example: git diff | allm ask -m anthropic:claude-sonnet-4-6 \"Review this change.\"");

  SessionsApp sessions(app);
  WorkerArguments worker;
  CLI::App* worker_app = add_worker(app, worker);

  CLI::App* sandbox_app = app.add_subcommand("sandbox", "Show which sandbox features this kernel supports");

  bool fast = false;
  CLI::App* demo_app = app.add_subcommand("demo", "Show an agent at work, with a scripted model and no key");
  demo_app->add_flag("--fast", fast, "Without delays; the default when the output is not a terminal");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports --help and --version through exceptions as well; those are not errors.
    return app.exit(error) == 0 ? 0 : kUsageError;
  }

  const Terminal out(stdout);
  const Terminal errors(stderr);
  if (scenario_app->parsed()) {
    scenario.paths.assign(paths.begin(), paths.end());
    return scenario_command(scenario, out, errors);
  }
  if (transcript_app->parsed()) {
    transcript.paths.assign(transcript_paths.begin(), transcript_paths.end());
    return transcript_command(transcript, out, errors);
  }
  if (sessions.parsed()) return sessions.run(out, errors);
  if (worker_app->parsed()) return worker_command(worker, out, errors);
  if (sandbox_app->parsed()) return sandbox_command(out);
  if (ask_app->parsed()) return ask_command(ask, stdin, out, errors);
  return demo_command(fast || !out.interactive(), out);
}
