#include "cli/transcript_command.hpp"

#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/files.hpp"
#include "testing/scenario/transcript.hpp"

namespace allm::cli {
namespace {

std::vector<std::string> errors_of(const std::filesystem::path& path) {
  const Result<Json> document = read_json_file(path);
  if (!document) return {document.error().message()};
  Result<std::vector<std::string>> mismatches = check_transcript(*document, path.parent_path());
  if (!mismatches) return {mismatches.error().message()};
  return *std::move(mismatches);
}

}  // namespace

int transcript_command(const TranscriptArguments& arguments, const Terminal& out, const Terminal& errors) {
  const std::vector<std::filesystem::path> files = find_json_files(arguments.paths);
  if (files.empty()) {
    errors.write("allm transcript: no transcripts found; name a *.json file or a directory that holds some\n");
    return 2;
  }
  std::size_t failed = 0;
  for (const std::filesystem::path& path : files) {
    const std::vector<std::string> mismatches = errors_of(path);
    if (mismatches.empty()) continue;
    ++failed;
    if (arguments.quiet) continue;
    std::string text = out.paint(Style::red, "FAIL") + " " + out.paint(Style::bold, printable(path.string())) + "\n";
    for (const std::string& error : mismatches) text += "    " + printable(error) + "\n";
    out.write(text + "\n");
  }
  const std::string line = fmt::format("{} passed, {} failed", files.size() - failed, failed);
  out.write(out.paint(failed == 0 ? Style::green : Style::red, line) + "\n");
  return failed == 0 ? 0 : 1;
}

CommandSpec transcript_spec() {
  auto arguments = std::make_shared<TranscriptArguments>();
  return {.name = "transcript",
          .summary = "Check transcripts: recorded exchanges with providers",
          .description =
              "A transcript contains an exchange with a provider and the expected events. Its response is decoded as a "
              "whole, in random pieces and byte by byte, and the events are compared with the expected ones.\n\n"
              "The last line is \"N passed, M failed\".",
          .options = {{.names = "path",
                       .value = "FILE|DIR",
                       .help = "Files, and directories that are searched for *.json.",
                       .target = &arguments->paths,
                       .required = true,
                       .completion = Completion::files},
                      {.names = "-q,--quiet",
                       .help = "Print only the numbers of passed and failed.",
                       .target = &arguments->quiet}},
          .exit_codes = {{0, "All transcripts passed."},
                         {1, "A transcript failed, or a file is not a transcript."},
                         {2, "The command line is wrong, or there is no file."}},
          .run = [arguments](const CommandContext& context) {
            return transcript_command(*arguments, context.out, context.errors);
          }};
}

}  // namespace allm::cli
