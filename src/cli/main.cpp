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
#include "cli/terminal.hpp"
#include "cli/transcript_command.hpp"

namespace {

constexpr int kUsageError = 2;

constexpr const char* kFooter =
    "Exit codes:\n"
    "  0  success\n"
    "  1  a scenario, a transcript or a run failed\n"
    "  2  the command line is wrong, or no file or question was given";

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
  if (sandbox_app->parsed()) return sandbox_command(out);
  if (ask_app->parsed()) return ask_command(ask, stdin, out, errors);
  return demo_command(fast || !out.interactive(), out);
}
