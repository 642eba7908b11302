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

}  // namespace allm::cli
