// The code of docs/tool-lanes.md. scripts/check_snippets.py compares the regions with the document.
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"

namespace docs_lanes_test {
namespace {

// [lanes-main]
allm::Tool thumbnail() {
  return allm::tool({
      .name = "describe",
      .description = "Describes an image file.",
      .schema = {{"type", "object"}, {"properties", {{"file", {{"type", "string"}}}}}},
      .handler = [](const allm::Json& arguments) { return allm::ok({{"arguments", arguments}}); },
      .timeout = std::chrono::seconds(5),
      .lane = allm::Lane::worker,
  });
}

void example_main() {
  allm::run_as_worker_if_asked({thumbnail()});  // returns in the program, never in a worker
  // … the program …
}
// [/lanes-main]

std::string answer_of(const allm::Tool& tool, const allm::Json& arguments) {
  const auto batch = allm::run_tool_calls({{.id = "c", .name = tool.name, .arguments = arguments}}, {tool});
  return batch ? batch->messages.at(0).text() : batch.error().message();
}

TEST(DocsLanes, Main) {
  example_main();
  EXPECT_NE(answer_of(thumbnail(), {{"file", "a.png"}}).find("a.png"), std::string::npos);
}

TEST(DocsLanes, Limits) {
  allm::Tool tool = thumbnail();
  // [lanes-limits]
  tool.limits = {
      .memory = std::uint64_t{512} << 20U,  // bytes of address space
      .cpu_time = std::chrono::seconds(2),  // of one call
      .open_files = 64,
      .output = 64 << 10,                       // bytes of one answer
      .grace = std::chrono::milliseconds(100),  // between SIGTERM and SIGKILL
      .sandbox = {.network = false, .read_only = true, .writable = {"/tmp"}, .required = false},
  };
  // [/lanes-limits]
  EXPECT_NE(answer_of(tool, {{"file", "b.png"}}).find("b.png"), std::string::npos);
}

TEST(DocsLanes, Command) {
  // [lanes-command]
  allm::Tool count = allm::tool({
      .name = "count_lines",
      .description = "Counts the lines of a file.",
      .schema = {{"type", "object"},
                 {"properties", {{"file", {{"type", "string"}}}}},
                 {"required", allm::Json::array({"file"})}},
      .timeout = std::chrono::seconds(5),
      .command = allm::Command{.argv = {"wc", "-l", "--", "{file}"}},
  });
  // [/lanes-command]
  EXPECT_EQ(answer_of(count, {{"file", "/dev/null"}}), "0 /dev/null");
}

TEST(DocsLanes, ToolsFile) {
  const std::string path = ::testing::TempDir() + "allm_docs_tools_" + std::to_string(getpid()) + ".toml";
  std::ofstream(path) << R"(
[[tool]]
name = "count_lines"
command = ["wc", "-l", "--", "{file}"]
)";
  // [lanes-file]
  allm::Result<std::vector<allm::Tool>> tools = allm::read_tools_file(path);
  if (!tools) throw std::runtime_error(tools.error().message());  // says the line, and what is wrong there
  allm::Engine engine({.tools = *std::move(tools)});
  // [/lanes-file]
  EXPECT_EQ(answer_of(engine.tools().at(0), {{"file", "/dev/null"}}), "0 /dev/null");
  unlink(path.c_str());
}

TEST(DocsLanes, Keys) {
  // [lanes-keys]
  allm::RuntimeOptions options{
      .protect_memory = true,                // the default
      .worker_secrets = {"OPENAI_API_KEY"},  // the engine of the workers needs it
  };
  const allm::Engine engine({.runtime = allm::Runtime::create(options)});
  // [/lanes-keys]
  EXPECT_EQ(engine.runtime()->options().worker_secrets.size(), 1U);
}

TEST(DocsLanes, Containment) {
  // [lanes-containment]
  // This program's tools use sudo, which has no effect in a user namespace.
  const auto runtime = allm::Runtime::create({.containment = allm::Containment::sweep});
  const allm::Engine engine({.runtime = runtime});
  // [/lanes-containment]
  const allm::Tool echo{.name = "echo", .command = allm::Command{.argv = {"echo", "contained"}}};
  const auto batch = allm::run_tool_calls({{.id = "c", .name = "echo"}}, {echo}, {}, engine);
  EXPECT_EQ(batch->messages.at(0).text(), "contained");
}

TEST(DocsLanes, Support) {
  // [lanes-support]
  const allm::SandboxSupport support = allm::sandbox_support();
  std::string report = support.no_network ? "sockets can be refused" : "sockets cannot be refused";
  for (const std::string& note : support.notes) report += "; " + note;
  // [/lanes-support]
  EXPECT_FALSE(report.empty());
}

}  // namespace
}  // namespace docs_lanes_test
