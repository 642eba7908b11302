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
            "t.toml:4: tool 't': 'command' must be a list of texts, and of lists of texts for groups\nt.toml:4: tool "
            "'t': 'command' names no program");
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
    const auto words = expand_command(Command{.argv = std::move(argv)}, arguments);
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

using Words = std::vector<std::string>;

Words expanded(const Command& command, const Json& arguments) {
  const auto words = expand_command(command, arguments);
  return words ? *words : Words{words.error()};
}

TEST(CommandLine, AGroupIsLeftOutTogether) {
  const Command command{.argv = {"p", "--config", "{cfg}", "-v", "{list}", "{file}"},
                        .groups = {{"--config", "{cfg}"}, {"{list}"}}};
  EXPECT_EQ(expanded(command, {{"file", "f"}}), (Words{"p", "-v", "f"}));
  EXPECT_EQ(expanded(command, {{"file", "f"}, {"cfg", nullptr}, {"list", Json::array()}}), (Words{"p", "-v", "f"}));
  EXPECT_EQ(expanded(command, {{"file", "f"}, {"cfg", "c"}, {"list", {"a", "b"}}}),
            (Words{"p", "--config", "c", "-v", "a", "b", "f"}));
  EXPECT_EQ(expanded(command, {{"file", "f"}, {"cfg", "-c"}}).at(0).substr(0, 14), "argument 'cfg'");
}

TEST(CommandLine, NoElementTakesThePlaceOfAMissingValueOfAnOption) {
  const Command command{.argv = {"p", "--config", "{cfg}", "{file}"}};
  EXPECT_EQ(expanded(command, {{"cfg", "c"}, {"file", "f"}}), (Words{"p", "--config", "c", "f"}));
  EXPECT_EQ(expanded(command, {{"file", "f"}}), Words{"argument 'cfg' is missing, and the option '--config' needs it"});
  for (const Words& argv : std::vector<Words>{{"p", "--x=1", "{a}"},
                                              {"p", "-x", "--", "{a}"},
                                              {"p", "-", "{a}"},
                                              {"p", "--", "-x", "{a}"},
                                              {"p", "word", "{a}"},
                                              {"-p", "{a}"}}) {
    EXPECT_EQ(expanded({.argv = argv}, Json::object()), Words(argv.begin(), argv.end() - 1));
  }
}

TEST(CommandLine, AnArgumentThatMayBeMissingAfterAnOptionIsAnErrorOfTheTemplate) {
  const Json requires_a = {{"required", {"a"}}};
  const auto error = [](const Command& command, const Json& schema) {
    return template_error(command, schema).value_or("none");
  };
  const std::string hint = error({.argv = {"ls", "-l", "{a}"}}, Json::object());
  EXPECT_EQ(
      hint,
      R"(has '{a}' after the option '-l', but 'a' may be missing: group ["-l", "{a}"] if the option is then left )"
      R"(out too, or ["{a}"] if the option stays, or make 'a' required in the schema)");
  EXPECT_EQ(error({.argv = {"ls", "-l", "{a}"}}, requires_a), "none");
  EXPECT_NE(error({.argv = {"ls", "-l", "{a}:{b}"}}, requires_a).find("'b' may be missing"), std::string::npos);
  EXPECT_EQ(error({.argv = {"ls", "-l", "{a}"}, .groups = {{"{a}"}}}, Json::object()), "none");
  EXPECT_EQ(error({.argv = {"ls", "-l", "{a}"}, .groups = {{"-l", "{a}"}}}, Json::object()), "none");
  EXPECT_EQ(error({.argv = {"ls", "-l", "--", "{a}"}}, Json::object()), "none");
  EXPECT_EQ(error({.argv = {"ls", "--color={c}", "{a}"}}, Json::object()), "none");
  EXPECT_NE(error({.argv = {"ls", "{a}"}, .groups = {{"-x", "{a}"}}}, Json::object()).find("no neighbouring"),
            std::string::npos);
  EXPECT_NE(error({.argv = {"ls", "-l"}, .groups = {{"-l"}}}, Json::object()).find("uses no argument"),
            std::string::npos);
  EXPECT_NE(error({.argv = {"ls", "{a}"}, .groups = {{}}}, Json::object()).find("empty group"), std::string::npos);
}

TEST(ToolsFile, AListInACommandIsAGroup) {
  const auto tools = tools_from_toml(
      "[[tool]]\nname = \"t\"\ncommand = [\"p\", [\"--config\", \"{cfg}\"], \"-v\", [\"{x}\"], \"{file}\"]\n");
  ASSERT_TRUE(tools.has_value()) << tools.error().message();
  EXPECT_EQ(tools->front().command->argv, (Words{"p", "--config", "{cfg}", "-v", "{x}", "{file}"}));
  EXPECT_EQ(tools->front().command->groups, (std::vector<Words>{{"--config", "{cfg}"}, {"{x}"}}));
  EXPECT_NE(error_of("[[tool]]\nname = \"t\"\ncommand = [\"p\", \"-o\", \"{x}\"]\n").find("'x' may be missing"),
            std::string::npos);
  EXPECT_NE(error_of("[[tool]]\nname = \"t\"\ncommand = [\"p\", [\"-o\", 1]]\n").find("lists of texts"),
            std::string::npos);
  EXPECT_EQ(error_of("[[tool]]\nname = \"t\"\ncommand = [\"p\", \"-o\", \"{x}\"]\n"
                     "schema = { required = [\"x\"], properties = { x = {} } }\n"),
            "none");
}

}  // namespace
}  // namespace allm::tools_file_test
