// Runs the command `allm ask` in a shell, with a TLS server on loopback.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/chat_server.hpp"

#ifdef ALLM_COMMAND

namespace allm::ask_command_test {
namespace {

using testing::HttpServer;
using testing::Reply;
using testing::ServedRequest;

struct Ran {
  int status = -1;
  std::string output;  // standard output and standard error
};

Ran run(const std::string& before, const std::string& arguments) {
  const std::string line = before + " " + ALLM_COMMAND + " ask " + arguments + " 2>&1";
  std::FILE* const pipe = popen(line.c_str(), "r");
  Ran ran;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    ran.output.append(buffer.data(), count);
  }
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  testing::note_produced(ran.output);
  return ran;
}

std::string environment(const HttpServer& server) {
  return "env CURL_CA_BUNDLE=" + server.ca_file() + " OPENAI_API_KEY=" + testing::chat_key();
}

TEST(Ask, StreamsAnAnswer) {
  const HttpServer server([](const ServedRequest& request, Reply& reply) {
    const Json body = Json::parse(request.body);
    const bool right = body["messages"] == Json({{{"role", "system"}, {"content", "Be brief."}},
                                                 {{"role", "user"}, {"content", "hi\n\nfrom a pipe"}}}) &&
                       request.header("authorization") == std::string("Bearer ") + testing::chat_key();
    right ? testing::say_hello(reply) : reply.send(400, "application/json", R"({"error":{"message":"bad"}})");
  });
  const Ran ran = run("printf 'from a pipe\\n' | " + environment(server),
                      "--model openai:m --base-url " + server.url() + "/v1 --system 'Be brief.' hi");
  EXPECT_EQ(ran.output, "Hello wörld\n");
  EXPECT_EQ(ran.status, 0);
}

TEST(Ask, ReportsErrors) {
  const HttpServer server([](const ServedRequest&, Reply& reply) {
    reply.send(401, "application/json",
               std::string(R"({"error":{"message":"Incorrect API key provided: )") + testing::chat_key() + R"("}})");
  });
  const Ran ran = run(environment(server), "-m openai@" + server.url() + "/v1:m hi </dev/null");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.output.find("allm ask: "), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("Incorrect API key"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find(" (openai, HTTP 401, " + server.url() + "/v1/chat/completions)\n"), std::string::npos)
      << ran.output;
}

TEST(Ask, ShowsThatAServerAnsweredInHtml) {
  const HttpServer server([](const ServedRequest&, Reply& reply) {
    reply.send(403, "text/html", "<html>\n<head><title>Blocked by the proxy</title></head></html>");
  });
  const Ran ran = run(environment(server), "-m openai@" + server.url() + "/v1?key=hidden:m hi </dev/null");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output,
            "allm ask: openai HTTP 403: the server sent HTML instead of JSON: <html> (Blocked by the proxy) (openai, "
            "HTTP 403, " +
                server.url() + "/v1/chat/completions)\n");
}

TEST(Ask, NeedsAQuestionAndAModelThatExists) {
  EXPECT_EQ(run("", "-m openai:m </dev/null").status, 2);
  const Ran unknown = run("", "-m nobody:m hi </dev/null");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.output.find("where is 'nobody'?"), std::string::npos) << unknown.output;
  const Ran no_key = run("env -u OPENAI_API_KEY", "-m openai:m hi </dev/null");
  EXPECT_EQ(no_key.status, 1);
  EXPECT_NE(no_key.output.find("OPENAI_API_KEY"), std::string::npos) << no_key.output;
}

TEST(Ask, RunsTheToolsOfAToolsFile) {
  const std::string file = ::testing::TempDir() + "allm_ask_" + std::to_string(getpid()) + ".toml";
  std::ofstream(file) << R"(
[[tool]]
name = "shout"
command = ["printf", "%s!", "--", "{text}"]
schema.properties.text.type = "string"
)";
  const HttpServer server([](const ServedRequest& request, Reply& reply) {
    const Json body = Json::parse(request.body);
    if (body["messages"].back()["role"] == "tool") {
      const bool right = body["messages"].back()["content"] == "--!hey!";
      return right ? testing::say_hello(reply) : reply.send(400, "application/json", R"({"error":{"message":"bad"}})");
    }
    const Json call = {{"index", 0},
                       {"id", "c1"},
                       {"type", "function"},
                       {"function", {{"name", "shout"}, {"arguments", R"({"text": "hey"})"}}}};
    const auto chunk = [](const Json& delta, const Json& finish) {
      const Json choice = {{"index", 0}, {"delta", delta}, {"finish_reason", finish}};
      return "data: " + Json({{"id", "x"}, {"model", "m"}, {"choices", Json::array({choice})}}).dump() + "\n\n";
    };
    testing::send_stream(reply, chunk({{"role", "assistant"}, {"tool_calls", Json::array({call})}}, nullptr) +
                                    chunk(Json::object(), "tool_calls") + "data: [DONE]\n\n");
  });
  const Ran ran = run(environment(server), "-m openai@" + server.url() + "/v1:m -t " + file + " hi </dev/null");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_NE(ran.output.find("-> shout {\"text\":\"hey\"}"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("Hello wörld\n"), std::string::npos) << ran.output;
  std::ofstream(file) << "[[tool]]\nname = 5\n";
  const Ran wrong = run(environment(server), "-m openai@" + server.url() + "/v1:m -t " + file + " hi </dev/null");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.output.find(":2:"), std::string::npos) << wrong.output;
  unlink(file.c_str());
}

}  // namespace
}  // namespace allm::ask_command_test

#endif
