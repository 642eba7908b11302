#include "cli/complete_command.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/user_models.hpp"
#include "cli/user_store.hpp"

namespace allm::cli {
namespace {

// Candidates that contain control characters cannot be typed, and would break the lines.
void write_candidates(const std::vector<std::string>& candidates, const std::string& prefix, const Terminal& out) {
  for (const std::string& candidate : candidates) {
    if (candidate.starts_with(prefix) && printable(candidate) == candidate) out.write(candidate + "\n");
  }
}

int complete_models(const std::string& prefix, const Terminal& out) {
  const Result<std::shared_ptr<const Catalogue>> catalogue = user_catalogue();
  if (!catalogue) return 1;
  std::vector<std::string> names;
  for (const ModelRef& model : (*catalogue)->models()) names.push_back(model.provider.value_or("") + ":" + model.id);
  write_candidates(names, prefix, out);
  return 0;
}

int complete_sessions(const std::string& prefix, const Terminal& out) {
  constexpr std::size_t kMost = 1'000;
  const auto store = open_existing_user_store();
  if (!store) return 1;
  if (*store == nullptr) return 0;
  const auto page = (*store)->list({.limit = kMost});
  if (!page) return 1;
  std::vector<std::string> ids;
  for (const SessionSummary& summary : page->sessions) ids.push_back(summary.id);
  write_candidates(ids, prefix, out);
  return 0;
}

}  // namespace

CommandSpec complete_spec() {
  struct Arguments {
    std::string kind;
    std::string prefix;
  };
  auto arguments = std::make_shared<Arguments>();
  return {.name = "complete",
          .summary = "Print the values that an option may have, for completion scripts",
          .options = {{.names = "kind",
                       .help = "The kind of values.",
                       .target = &arguments->kind,
                       .required = true,
                       .choices = {"models", "sessions"}},
                      {.names = "prefix",
                       .value = "PREFIX",
                       .help = "Only values that begin with it.",
                       .target = &arguments->prefix}},
          .exit_codes = {{0, "Success."}, {1, "They are not available."}, {2, "The command line is wrong."}},
          .hidden = true,
          .run = [arguments](const CommandContext& context) {
            return arguments->kind == "models" ? complete_models(arguments->prefix, context.out)
                                               : complete_sessions(arguments->prefix, context.out);
          }};
}

}  // namespace allm::cli
