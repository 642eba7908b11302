// Lanes: where a tool runs, and the limits that the operating system enforces on it.
//
//   thread   a thread of the program. Cheap; for code that you trust to return.
//   worker   another process of the same executable, kept for further calls. For code that may hang, leak or crash.
//   command  any program. Declared by the tool's `command`.
//
// A tool's outcomes, context and progress are the same in every lane. Only workers and commands can be killed: at the
// deadline the process and all its children are killed. docs/tool-lanes.md lists the guarantees of each lane.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace allm {

enum class Lane : std::uint8_t { thread, worker };

// Restrictions on a worker or a command, enforced by the kernel; sandbox_support() says what this kernel supports. With
// either of them a tool can use only a list of system calls, and cannot open other processes, trace them or change
// them; docs/tool-lanes.md has the details.
struct Sandbox {
  // False: no sockets, including local ones. Pairs of connected stream sockets (socketpair) still work.
  bool network = true;
  // True: files can be read but not written, except those below `writable`.
  bool read_only = false;
  std::vector<std::string> writable = {};  // absolute paths of existing directories and files
  // Whether a call fails if this kernel cannot enforce the restrictions above. False: the call runs with those that the
  // kernel can enforce.
  bool required = true;

  bool operator==(const Sandbox&) const = default;
};

// Limits that the operating system enforces on workers and commands and on their children. Threads have no limits.
struct ToolLimits {
  // Address space in bytes. Default 4 GiB: more than tools need, less than endangers the machine. nullopt: no limit,
  // for tools that reserve more than they use (GPUs, sanitizers).
  std::optional<std::uint64_t> memory = std::uint64_t{4} << 30U;
  // CPU time of one call. Default: no limit other than the deadline.
  std::optional<std::chrono::seconds> cpu_time = std::nullopt;
  std::optional<std::uint64_t> open_files = 256;
  // Bytes of a worker's answer or a command's output; a call that exceeds them fails. Default 1 MiB: more than a model
  // reads.
  std::uint64_t output = std::uint64_t{1} << 20U;
  // The time between SIGTERM and SIGKILL when a process is ended.
  std::chrono::milliseconds grace{200};
  Sandbox sandbox = {};

  bool operator==(const ToolLimits&) const = default;
};

// How a command receives the arguments.
enum class CommandInput : std::uint8_t {
  arguments,  // through the placeholders of its argv only; its standard input is empty
  json,       // as one JSON object on its standard input
};
// The meaning of a command's standard output.
enum class CommandOutput : std::uint8_t {
  text,     // the result, without the final newline
  json,     // the result, as JSON
  outcome,  // {"ok": …}, {"failure": …}, {"ask_user": {question, options?}} or {"halt": {reason, result?}}
};

// A program that runs as a tool. It is started directly, never through a shell.
struct Command {
  // `{name}` is replaced by the argument of that name; `{{` and `}}` are braces. An element whose argument is missing
  // is left out. An element that consists of one placeholder whose value is a list becomes one element per item; an
  // empty list counts as missing. Values that are not texts are written as JSON. A value that begins with `-` where an
  // option could begin is refused, unless an element `--` comes before it.
  std::vector<std::string> argv = {};
  // Neighbouring elements of `argv` that are left out together if an argument of one of them is missing:
  // {{"--config", "{cfg}"}}. Needed for an argument that may be missing after an option, because the next element would
  // take its place: with this group the option is left out too; with the group {"{cfg}"} it stays. A tool without the
  // group is an error before the first model call, unless its schema requires the argument.
  std::vector<std::vector<std::string>> groups = {};
  CommandInput input = CommandInput::arguments;
  CommandOutput output = CommandOutput::text;
  // Names of environment variables of this program that the command inherits. Other variables, such as those with API
  // keys, are not inherited.
  std::vector<std::string> pass_environment = {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"};
  std::map<std::string, std::string> environment = {};  // further variables
  std::string directory = {};                           // working directory; default: that of this program
  // Exit statuses with which the tool reports a failure; its output is the reason. 0 is success; every other status is
  // ToolError `handler_exit`.
  std::vector<int> failure_statuses = {};

  bool operator==(const Command&) const = default;
};

}  // namespace allm
