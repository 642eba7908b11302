// Commands for the tests of this folder.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/command/parser.hpp"

namespace allm::cli {

// The targets of the options of the test commands, and what was run.
struct TestTargets {
  bool flag = false;
  int number = 7;
  double factor = 1.5;
  std::int64_t large = 0;
  std::size_t count = 4;
  std::string text = "default";
  std::optional<double> maybe_factor;
  std::optional<std::int64_t> maybe_large;
  std::optional<std::size_t> maybe_count;
  std::optional<std::string> maybe_text;
  std::vector<std::string> words;
  std::vector<std::filesystem::path> paths;
  std::vector<std::string> seen;  // by a function
  std::string first;
  std::vector<std::string> rest;
  std::string ran;
};

// `prog all`, with an option for every target; `prog group one|two`; `prog strict`, with required options; and the
// hidden `prog secret`. The returned value points into `targets`.
inline CommandSpec test_commands(TestTargets& targets) {
  const auto run = [&targets](std::string name, int code) {
    return [&targets, name = std::move(name), code](const CommandContext&) {
      targets.ran = name;
      return code;
    };
  };
  CommandSpec all{.name = "all", .summary = "Have every kind of option"};
  all.options = {
      {.names = "first", .value = "FIRST", .help = "The first argument.", .target = &targets.first},
      {.names = "rest", .value = "REST", .help = "The others.", .target = &targets.rest},
      {.names = "-f,--flag", .help = "A flag.", .target = &targets.flag},
      {.names = "-n,--number",
       .value = "N",
       .help = "A number.",
       .target = &targets.number,
       .minimum = -10,
       .maximum = 10,
       .show_default = true},
      {.names = "--factor", .value = "X", .help = "A factor.", .target = &targets.factor, .show_default = true},
      {.names = "--large", .value = "N", .help = "A large number.", .target = &targets.large},
      {.names = "--count", .value = "N", .help = "A count.", .target = &targets.count, .minimum = 1},
      {.names = "-t,--text", .value = "TEXT", .help = "A text.", .target = &targets.text},
      {.names = "--maybe-factor", .value = "X", .help = "A factor.", .target = &targets.maybe_factor, .minimum = 0},
      {.names = "--maybe-large", .value = "N", .help = "A number.", .target = &targets.maybe_large},
      {.names = "--maybe-count", .value = "N", .help = "A count.", .target = &targets.maybe_count},
      {.names = "--maybe-text", .value = "TEXT", .help = "A text.", .target = &targets.maybe_text},
      {.names = "-w,--word", .value = "WORD", .help = "A word.", .target = &targets.words},
      {.names = "--path",
       .value = "FILE",
       .help = "A file.",
       .target = &targets.paths,
       .completion = Completion::files},
      {.names = "--lane",
       .help = "A choice.",
       .target = std::function<void(const std::string&)>(
           [&targets](const std::string& value) { targets.seen.push_back(value); }),
       .choices = {"thread", "worker"}}};
  all.run = run("all", 0);
  CommandSpec strict{.name = "strict", .summary = "Have required options"};
  strict.options = {{.names = "-m,--model",
                     .value = "MODEL",
                     .help = "The model.",
                     .target = &targets.text,
                     .required = true,
                     .completion = Completion::models},
                    {.names = "id",
                     .value = "ID",
                     .help = "The id.",
                     .target = &targets.first,
                     .required = true,
                     .completion = Completion::sessions}};
  strict.check = [&targets]() -> std::optional<std::string> {
    return targets.first == targets.text ? std::optional<std::string>("ID and --model are equal") : std::nullopt;
  };
  strict.run = run("strict", 1);
  CommandSpec group{.name = "group", .summary = "Have commands"};
  group.commands.push_back({.name = "one", .summary = "Be the first", .run = run("one", 0)});
  group.commands.push_back({.name = "two", .summary = "Be the second", .run = run("two", 0)});
  CommandSpec root{.name = "prog", .summary = "Test commands"};
  root.commands.push_back(std::move(all));
  root.commands.push_back(std::move(strict));
  root.commands.push_back(std::move(group));
  root.commands.push_back({.name = "secret", .summary = "Be hidden", .hidden = true, .run = run("secret", 0)});
  return root;
}

struct TestRun {
  int code = -1;
  std::string out;
  std::string errors;
  TestTargets targets;
};

// Runs a command line of the test commands.
inline TestRun run_test_command(const std::vector<std::string>& arguments) {
  const auto text_of = [](std::FILE* file) {
    std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
    std::rewind(file);
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return text;
  };
  TestRun result;
  std::FILE* const out_file = std::tmpfile();
  std::FILE* const errors_file = std::tmpfile();
  const Terminal out(out_file, false, false);
  const Terminal errors(errors_file, false, false);
  const CommandSpec root = test_commands(result.targets);
  const std::string version = "1.2.3";
  result.code =
      run_command_line(arguments, {.in = stdin, .out = out, .errors = errors, .root = root, .version = version});
  result.out = text_of(out_file);
  result.errors = text_of(errors_file);
  return result;
}

}  // namespace allm::cli
