#include "cli/commands.hpp"

#include "cli/ask_command.hpp"
#include "cli/budgets_command.hpp"
#include "cli/complete_command.hpp"
#include "cli/completion_command.hpp"
#include "cli/demo_command.hpp"
#include "cli/help_command.hpp"
#include "cli/man_command.hpp"
#include "cli/sandbox_command.hpp"
#include "cli/scenario_command.hpp"
#include "cli/sessions_command.hpp"
#include "cli/transcript_command.hpp"
#include "cli/worker_command.hpp"

namespace allm::cli {
namespace {

CommandSection environment_section() {
  return {
      .title = "Environment",
      .entries =
          {{"OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, ...",
            "Keys of providers. Each variable is named after its provider."},
           {"ALLM_MODELS",
            "The name of a model file that overrides the built-in catalogue of models. Default: the file models.json "
            "(see FILES), if it exists."},
           {"ALLM_STORE",
            "The URL of the store of allm sessions, allm budgets and allm worker. Default: the file sessions.db (see "
            "FILES)."},
           {"https_proxy, no_proxy, SSL_CERT_FILE, SSL_CERT_DIR, CURL_CA_BUNDLE",
            "The proxy and the certificate authorities, as in other programs that use libcurl."},
           {"NO_COLOR", "If it is set and not empty, no colours are used."},
           {"TERM",
            "If it is not set or is dumb, no colours are used. Output to a pipe or a file has no colours either."}},
      .in_help = false};
}

CommandSection files_section() {
  return {
      .title = "Files",
      .entries = {{"$XDG_CONFIG_HOME/allm/models.json",
                   "The user's model file. The folder is ~/.config if XDG_CONFIG_HOME is not set."},
                  {"$XDG_DATA_HOME/allm/sessions.db",
                   "The user's store, an SQLite file that is created when it is needed. The folder is ~/.local/share "
                   "if XDG_DATA_HOME is not set."}},
      .in_help = false};
}

}  // namespace

CommandSpec all_commands() {
  CommandSpec root{
      .name = "allm",
      .summary = "Run and check LLM agents",
      .description =
          "The command of the allm library: one engine, any model, tools that run in parallel, conversations "
          "that are plain data. \"allm help COMMAND\" explains a command.",
      .examples = {{"allm demo", "Show an agent at work; needs no key."},
                   {"allm ask -m ollama:qwen3:8b \"Why is the sky blue?\"", "Ask a local model."}},
      .exit_codes = {{0, "Success."},
                     {1, "A scenario, a transcript or a run failed, or a store refused an operation."},
                     {2, "The command line is wrong, or no file or question was given."}},
      .sections = {environment_section(), files_section()}};
  root.commands.push_back(ask_spec());
  root.commands.push_back(sessions_spec());
  root.commands.push_back(budgets_spec());
  root.commands.push_back(worker_spec());
  root.commands.push_back(scenario_spec());
  root.commands.push_back(transcript_spec());
  root.commands.push_back(sandbox_spec());
  root.commands.push_back(demo_spec());
  root.commands.push_back(completion_spec());
  root.commands.push_back(help_spec());
  root.commands.push_back(complete_spec());
  root.commands.push_back(man_spec());
  return root;
}

}  // namespace allm::cli
