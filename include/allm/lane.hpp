// Lanes: where a tool runs, and what the operating system holds it to.
//
//   thread   a thread of the program. Cheap; for code that you trust to return.
//   worker   another process of the same executable, kept warm. For code that may hang, leak or crash.
//   command  any program. Declared by the tool's `command`.
//
// A tool's outcomes, its context and its progress are the same in every lane. Only the last two can be made to end: at
// the deadline the process and all it has started are killed. docs/tool-lanes.md says what each guarantees.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace allm {

enum class Lane : std::uint8_t { thread, worker };

// What a worker or a command may not do. The kernel sees to it, by what it has: see sandbox_support().
struct Sandbox {
  // Whether it may open sockets, local ones included. Default: it may.
  bool network = true;
  // Whether files can only be read, but for those below `writable`. Default: it may write.
  bool read_only = false;
  std::vector<std::string> writable = {};  // directories and files that exist; absolute
  // What to do where this kernel cannot enforce the above: refuse the call, or run it all the same. Default: refuse.
  bool required = true;

  bool operator==(const Sandbox&) const = default;
};

// Enforced by the operating system on workers and commands, together with whatever they start. Threads have no limits.
struct ToolLimits {
  // Address space in bytes. Default 4 GiB: far beyond what tools need, and short of what hurts the machine. Nothing for
  // no limit, which tools need that reserve more than they use (GPUs, sanitizers).
  std::optional<std::uint64_t> memory = std::uint64_t{4} << 30U;
  // Of one call. Default: no limit but the deadline's.
  std::optional<std::chrono::seconds> cpu_time = std::nullopt;
  std::optional<std::uint64_t> open_files = 256;
  // What a call may answer, or a command write, in bytes. Default 1 MiB: more than a model reads.
  std::uint64_t output = std::uint64_t{1} << 20U;
  // Between being asked to end (SIGTERM) and being killed.
  std::chrono::milliseconds grace{200};
  Sandbox sandbox = {};

  bool operator==(const ToolLimits&) const = default;
};

// What a command gets of the arguments.
enum class CommandInput : std::uint8_t {
  arguments,  // only what its argv says; nothing on its standard input
  json,       // all of them, as one JSON object on its standard input
};
// What its standard output is.
enum class CommandOutput : std::uint8_t {
  text,     // the result, without the last line end
  json,     // the result, as JSON
  outcome,  // {"ok": …}, {"failure": …}, {"ask_user": {question, options?}} or {"halt": {reason, result?}}
};

// A program that is a tool. It is started directly, never through a shell.
struct Command {
  // `{name}` stands for the argument of that name, `{{` and `}}` for braces. An element whose argument is missing is
  // left out; one that is a placeholder alone and has a list for a value becomes an element for each item. Values other
  // than texts are written as JSON. A value that begins with `-` where an option could begin is refused, unless an
  // element `--` comes before it.
  std::vector<std::string> argv = {};
  CommandInput input = CommandInput::arguments;
  CommandOutput output = CommandOutput::text;
  // Variables of the program's environment that are passed on, by name. PATH, HOME, LANG, LC_ALL, TZ and TMPDIR are by
  // default; keys are not.
  std::vector<std::string> pass_environment = {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"};
  std::map<std::string, std::string> environment = {};  // and what is set
  std::string directory = {};                           // where it runs; default: where the program does
  // Exit statuses that are a failure which the tool reports, with its output as the reason. 0 is success; any other
  // is ToolError `handler_exit`.
  std::vector<int> failure_statuses = {};

  bool operator==(const Command&) const = default;
};

}  // namespace allm
