#include "allm/tools_file.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lanes/command_line.hpp"

namespace allm::tools_file_test {
namespace {

std::string error_of(const std::string& text) {
  const auto tools = tools_from_toml(text, "t.toml");
  if (tools) return "none";
  EXPECT_TRUE(tools.error().is<ValidationError>(ValidationError::Reason::invalid_tool));
  return tools.error().message();
}

TEST(ToolsFile, ReadsEverything) {
  const auto tools = tools_from_toml(R"(
[[tool]]
name = "search"
description = "Finds lines."
command = ["grep", "-n", "--", "{pattern}", "{files}"]
input = "json"
output = "outcome"
timeout = "250ms"
directory = "/srv"
pass_environment = ["PATH"]
environment = { LC_ALL = "C" }
failure_statuses = [1, 2]
compact = true
summary = "grep"
validate_arguments = false

[tool.schema]
type = "object"
required = ["pattern"]
[tool.schema.properties]
pattern = { type = "string" }
files = { type = "array" }

[tool.limits]
memory = "512 MiB"
cpu_time = "1500ms"
open_files = 32
output = 2048
grace = "1s"

[tool.sandbox]
network = false
read_only = true
writable = ["/srv/out"]
required = false

[[tool]]
name = "ask"
manual = true
schema = '{"type": "object", "properties": {"q": {"const": null}}}'
)");
  ASSERT_TRUE(tools.has_value()) << tools.error().message();
  ASSERT_EQ(tools->size(), 2U);
  const Tool& search = tools->front();
  const Command expected{.argv = {"grep", "-n", "--", "{pattern}", "{files}"},
                         .input = CommandInput::json,
                         .output = CommandOutput::outcome,
                         .pass_environment = {"PATH"},
                         .environment = {{"LC_ALL", "C"}},
                         .directory = "/srv",
                         .failure_statuses = {1, 2}};
  EXPECT_EQ(search.command, expected);
  EXPECT_EQ(search.description, "Finds lines.");
  EXPECT_EQ(search.timeout, std::chrono::milliseconds(250));
  EXPECT_TRUE(search.compact);
  EXPECT_EQ(search.summary, "grep");
  EXPECT_FALSE(search.validate_arguments);
  EXPECT_EQ(search.schema["properties"].begin().key(), "pattern") << "the order of the file is kept";
  const ToolLimits limits{
      .memory = std::uint64_t{512} << 20U,
      .cpu_time = std::chrono::seconds(2),
      .open_files = 32,
      .output = 2048,
      .grace = std::chrono::seconds(1),
      .sandbox = {.network = false, .read_only = true, .writable = {"/srv/out"}, .required = false}};
  EXPECT_EQ(search.limits, limits);
  EXPECT_TRUE(tools->back().manual);
  EXPECT_TRUE(tools->back().schema["properties"]["q"]["const"].is_null());
}

TEST(ToolsFile, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(error_of("[[tool]]\nname = \"t\"\ncommand = [\"x\"]\ncomand = 1\n").substr(0, 40),
            "t.toml:4: tool 't': 'comand' is not know");
  EXPECT_EQ(error_of("\n[[tool]]\nname = \"t\"\ncommand = \"x\"\n"),
            "t.toml:4: tool 't': 'command' must be a list of texts\nt.toml:4: tool 't': 'command' names no program");
  EXPECT_EQ(error_of("[[tool]]\nname = \"t\"\ncommand = [\"x\"]\ntimeout = 5\n"),
            "t.toml:4: tool 't': 'timeout' must be a time, such as \"250ms\", \"10s\", \"2m\" or \"1h\"");
  EXPECT_EQ(error_of("[[tool]]\nname = \"t\"\ncommand = [\"x\", \"{a\"]\n"),
            "t.toml:3: tool 't': 'command' '{a' has a brace without its other");
  EXPECT_EQ(error_of("[[tool]]\nname = \"t\"\ncommand = [\"x\", \"{b}\"]\nschema.properties.a.type = \"string\"\n"),
            "t.toml:3: tool 't': 'command' uses {b}, which the schema does not declare");
  EXPECT_EQ(error_of("[[tool]]\nname = \"t\"\n"),
            "t.toml:1: tool 't': a command is missing; a tool without one must be manual");
  EXPECT_EQ(error_of("[[tool]]\ncommand = [\"x\"]\n"), "t.toml:1: tool: a name is missing");
  EXPECT_EQ(error_of("tool = 1\n"), "t.toml:1: 'tool' must be a list of tables: write [[tool]]");
  EXPECT_NE(error_of("").find("no tool"), std::string::npos);
  EXPECT_NE(error_of("[[tool]]\nname = \"t\nx\"\n").find("t.toml:2: this is no TOML"), std::string::npos);
  const std::string twice = "[[tool]]\nname = \"t\"\ncommand = [\"x\"]\n";
  EXPECT_EQ(error_of(twice + twice), "t.toml:5: tool 't': 'name' is taken by another tool of this file");
}

TEST(ToolsFile, AllErrorsAreReported) {
  const std::string message = error_of(R"(
[[tool]]
name = "t"
command = ["x"]
input = "xml"
schema = { type = 5 }
[tool.limits]
memory = "many"
)");
  for (const char* part :
       {"t.toml:5: tool 't': 'input' is 'xml'; there are arguments, json",
        "t.toml:6: tool 't': 'schema' is not a valid JSON Schema", "t.toml:8: tool 't': 'memory' must be"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << "\nin\n" << message;
  }
}

TEST(ToolsFile, TheErrorOfAMissingFileNamesIt) {
  const auto tools = read_tools_file("/no/such/tools.toml");
  ASSERT_FALSE(tools.has_value());
  EXPECT_EQ(tools.error().message(), "/no/such/tools.toml: cannot be read: No such file or directory");
}

TEST(CommandLine, PutsArgumentsWhereTheTemplateSays) {
  using Words = std::vector<std::string>;
  const auto expand = [](Words argv, const Json& arguments) {
    const auto words = expand_command(argv, arguments);
    return words ? *words : Words{"refused: " + words.error()};
  };
  const Json arguments = {{"s", "a b"},    {"n", 2.5},           {"t", true},   {"o", {{"k", 1}}},
                          {"l", {"x", 1}}, {"e", Json::array()}, {"z", nullptr}};
  EXPECT_EQ(expand({"p", "{s}", "{n}", "{t}", "{o}"}, arguments), (Words{"p", "a b", "2.5", "true", R"({"k":1})"}));
  EXPECT_EQ(expand({"p", "--x={s}:{n}"}, arguments), (Words{"p", "--x=a b:2.5"}));
  EXPECT_EQ(expand({"p", "{l}", "{e}", "y={l}"}, arguments), (Words{"p", "x", "1", R"(y=["x",1])"}));
  EXPECT_EQ(expand({"p", "{missing}", "--m={missing}", "{z}"}, arguments), (Words{"p"}));
  EXPECT_EQ(expand({"p", "{{{s}}}"}, arguments), (Words{"p", "{a b}"}));
  EXPECT_EQ(expand({"p", "{l}"}, {{"l", {"-x"}}}).at(0).substr(0, 20), "refused: argument 'l");
  EXPECT_EQ(expand({"p", "--", "{l}"}, {{"l", {"-x"}}}), (Words{"p", "--", "-x"}));
  EXPECT_EQ(expand({"p", "-{s}"}, arguments), (Words{"p", "-a b"})) << "the author's own dash";
  EXPECT_EQ(expand({"p", "{s}"}, {{"s", std::string("a\0b", 3)}}).at(0).substr(0, 7), "refused");
}

}  // namespace
}  // namespace allm::tools_file_test
