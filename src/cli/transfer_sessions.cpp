#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "allm/session_export.hpp"

#include "cli/files.hpp"
#include "cli/sessions_command.hpp"
#include "data/read_file.hpp"

namespace allm::cli {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

bool write_line(std::FILE* file, std::string_view line) {
  return std::fwrite(line.data(), 1, line.size(), file) == line.size() && std::fputc('\n', file) != EOF;
}

int report_export(const ExportReport& report, const SessionsOutput& output) {
  for (const ExportFailure& failure : report.failures) {
    fail_sessions(output, "session '" + failure.session_id + "' is not exported: " + failure.error.message());
  }
  output.errors.write(fmt::format("{} exported, {} failed\n", report.exported, report.failures.size()));
  return report.failures.empty() ? 0 : 1;
}

int import_text(Store& store, const std::string& name, std::string_view text, const ImportOptions& options,
                const SessionsOutput& output) {
  const ImportReport report = import_sessions(store, text, options);
  for (const std::string& id : report.imported) {
    output.out.write((output.json ? write_json({{"session_id", id}}).value_or("{}") : printable(id)) + "\n");
  }
  for (const ImportFailure& failure : report.failures) {
    fail_sessions(output, fmt::format("{}:{}: {}", name, failure.line, failure.error.message()));
  }
  if (!report.complete) fail_sessions(output, name + ": the lines that follow were not imported");
  return report.failures.empty() ? 0 : 1;
}

}  // namespace

int export_to_file(Store& store, const SessionQuery& query, const std::string& path, const SessionsOutput& output) {
  const std::unique_ptr<std::FILE, CloseFile> file(path.empty() ? nullptr : std::fopen(path.c_str(), "wbx"));
  if (!path.empty() && !file) return fail_sessions(output, "cannot create " + path + ": " + std::strerror(errno));
  std::FILE* const target = file ? file.get() : stdout;
  bool written = true;
  const auto report = export_sessions(store, query, [&](std::string_view line) {
    written = write_line(target, line);
    return written;
  });
  if (!report) return fail_sessions(output, report.error().message());
  if (!written || std::fflush(target) != 0) {
    return fail_sessions(output, std::string("cannot write the sessions: ") + std::strerror(errno));
  }
  return report_export(*report, output);
}

int import_files(Store& store, const ImportArguments& arguments, std::FILE* input, const SessionsOutput& output) {
  int code = 0;
  const ImportOptions options{.tenant = arguments.tenant, .replace = arguments.replace};
  for (const std::string& name : arguments.files) {
    const auto text = name == "-" ? read_input(input) : read_file(name, std::numeric_limits<std::size_t>::max());
    if (!text) {
      code = fail_sessions(output, name + ": " + errno_text(text.error()));
    } else if (import_text(store, name, *text, options, output) != 0) {
      code = 1;
    }
  }
  return code;
}

CommandSpec export_spec() {
  struct Arguments {
    SessionQuery query;
    std::string path;
  };
  auto arguments = std::make_shared<Arguments>();
  CommandSpec spec{.name = "export", .summary = "Write sessions as JSON lines"};
  spec.options = filter_options(arguments->query);
  spec.options.insert(spec.options.begin(), {.names = "-o,--output",
                                             .value = "FILE",
                                             .help = "A new file. Default: standard output.",
                                             .target = &arguments->path,
                                             .completion = Completion::files});
  return on_store(std::move(spec), [arguments](Store& store, const SessionsOutput& output, std::FILE*) {
    return export_to_file(store, arguments->query, arguments->path, output);
  });
}

CommandSpec import_spec() {
  auto arguments = std::make_shared<ImportArguments>();
  CommandSpec spec{.name = "import",
                   .summary = "Read sessions: exported lines, session files",
                   .description = "A bad line is reported with its number, and all others are imported."};
  spec.options = {{.names = "file",
                   .value = "FILE",
                   .help = "Files. - reads standard input.",
                   .target = &arguments->files,
                   .required = true,
                   .completion = Completion::files},
                  {.names = "--tenant",
                   .value = "NAME",
                   .help = "The tenant of all imported sessions.",
                   .target = &arguments->tenant},
                  {.names = "--replace", .help = "Replace sessions that exist.", .target = &arguments->replace}};
  return on_store(std::move(spec), [arguments](Store& store, const SessionsOutput& output, std::FILE* in) {
    return import_files(store, *arguments, in, output);
  });
}

}  // namespace allm::cli
