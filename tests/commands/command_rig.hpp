// Runs the command `allm` as real processes, on a store of their own and with a scripted model on loopback.
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/json.hpp"

#include "tests/http_server.hpp"

namespace allm::testing {

struct CommandResult {
  int status = -1;
  std::string output;  // standard output
  std::string errors;  // standard error
};

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A process of the command. Killed if it is still running at the end.
class CommandProcess {
 public:
  CommandProcess(const std::string& line, std::filesystem::path output) : output_(std::move(output)) {
    process_ = fork();
    if (process_ != 0) return;
    execl("/bin/sh", "sh", "-c", ("exec " + line + " >" + output_.string() + " 2>&1 </dev/null").c_str(), nullptr);
    _exit(127);
  }
  ~CommandProcess() {
    kill(SIGKILL);
    wait();
  }
  CommandProcess(const CommandProcess&) = delete;
  CommandProcess& operator=(const CommandProcess&) = delete;

  void kill(int signal) const {
    if (process_ > 0) ::kill(process_, signal);
  }
  // The exit code, or the negative number of the signal that ended it. Blocks.
  int wait() {
    if (process_ <= 0) return code_;
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return code_;
  }
  // Whether it has ended. Does not block.
  bool has_ended() {
    if (process_ <= 0) return true;
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) != process_) return false;
    process_ = -1;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return true;
  }
  // Standard output and standard error.
  std::string output() const { return file_text(output_); }

 private:
  std::filesystem::path output_;
  pid_t process_ = -1;
  int code_ = 0;
};

// A folder with a store, and a model that answers "Answer to TEXT." If a request has tools, it calls the first one
// before; a tool with the parameter `text` gets the user's text. Before the call it says "Let me see." if the user's
// text begins with "Think". It refuses every key if its path begins with "refused".
class CommandRig {
 public:
  explicit CommandRig(std::string store = {})
      : folder_(make_folder()),
        store_(store.empty() ? "sqlite:" + (folder_ / "store.db").string() : std::move(store)) {}
  ~CommandRig() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  CommandRig(const CommandRig&) = delete;
  CommandRig& operator=(const CommandRig&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  const std::string& store() const { return store_; }
  std::size_t model_calls() const { return server_.requests(); }

  // The command line with the environment of the rig.
  std::string line(const std::string& arguments) const {
    return "env ALLM_STORE='" + store_ + "' OPENAI_API_KEY=unused " + ALLM_COMMAND + " " + arguments;
  }
  std::string worker_line(const std::string& arguments) const {
    return line("worker --model openai@" + server_.url() + "/v1:m " + arguments);
  }
  CommandResult run(const std::string& arguments) const { return run_line(line(arguments)); }
  CommandResult work(const std::string& arguments = "") const {
    return run_line(worker_line("--until-empty " + arguments));
  }
  CommandResult run_line(const std::string& command) const {
    const auto errors = folder_ / "stderr";
    std::FILE* const pipe = popen((command + " 2>" + errors.string()).c_str(), "r");
    CommandResult result;
    std::array<char, 4096> buffer{};
    while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
      result.output.append(buffer.data(), count);
    }
    const int status = pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.errors = file_text(errors);
    return result;
  }

 private:
  static std::filesystem::path make_folder() {
    std::string name = ::testing::TempDir() + "allm_command_XXXXXX";
    return mkdtemp(name.data()) == nullptr ? std::filesystem::path() : std::filesystem::path(name);
  }
  static std::string chunk(const Json& delta, const Json& finish) {
    const Json choice = {{"index", 0}, {"delta", delta}, {"finish_reason", finish}};
    return "data: " + Json({{"id", "x"}, {"model", "m"}, {"choices", Json::array({choice})}}).dump() + "\n\n";
  }
  static void answer(const ServedRequest& request, Reply& reply) {
    if (request.target.starts_with("/refused")) {
      return reply.send(401, "application/json", R"({"error": {"message": "Incorrect API key provided"}})");
    }
    const Json body = Json::parse(request.body);
    const Json& last = body["messages"].back();
    std::string text;
    if (body.contains("tools") && last["role"] == "user") {
      const Json& tool = body["tools"][0]["function"];
      Json arguments = Json::object();
      if (tool.contains("/parameters/properties/text"_json_pointer)) arguments["text"] = last["content"];
      const Json call = {{"index", 0},
                         {"id", "c" + std::to_string(body["messages"].size())},
                         {"type", "function"},
                         {"function", {{"name", tool["name"]}, {"arguments", arguments.dump()}}}};
      if (last["content"].get<std::string>().starts_with("Think")) {
        text = chunk({{"role", "assistant"}, {"content", "Let me see."}}, nullptr);
      }
      text += chunk({{"role", "assistant"}, {"tool_calls", Json::array({call})}}, nullptr) +
              chunk(Json::object(), "tool_calls");
    } else {
      text = chunk({{"role", "assistant"}, {"content", "Answer to " + last["content"].get<std::string>() + "."}},
                   nullptr) +
             chunk(Json::object(), "stop");
    }
    reply.begin(200, "text/event-stream");
    reply.chunk(text + "data: [DONE]\n\n");
    reply.end();
  }

  std::filesystem::path folder_;
  std::string store_;
  HttpServer server_{answer, {.tls = false}};
};

// Waits until `done`, at most two minutes.
template <class Done>
bool eventually(Done done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// A line of `text` for each line.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace allm::testing
