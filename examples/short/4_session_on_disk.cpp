// A conversation that goes on where it ended, in another process or on another day.
#include <filesystem>
#include <iostream>
#include <unistd.h>

#include "allm/allm.hpp"
#include "allm/testing.hpp"

// One turn of the conversation in the file `path`.
allm::Result<std::string> reply(const allm::Engine& engine, const std::string& path, const std::string& text) {
  allm::Result<allm::Session> session = allm::Session{};
  if (std::filesystem::exists(path)) session = allm::load_session(path);
  if (!session) return std::unexpected(session.error());
  const allm::Result<allm::SessionTurn> turn = allm::session_reply(engine, *session, text);
  if (!turn) return std::unexpected(turn.error());
  if (const allm::Status saved = allm::save_session(path, turn->session); !saved) return std::unexpected(saved.error());
  return turn->result.text();
}

int main() {
  // A real model: const allm::Engine engine = allm::engine_for("openai:gpt-4.1-mini").value();
  const allm::Engine engine({.adapter = allm::fake([](const allm::Request& request) -> allm::FakeCallScript {
                               return {allm::fake_text("Your first message was: " + request.messages.front().text()),
                                       allm::fake_finish(allm::FinishReason::stop)};
                             })});

  const std::string path = std::filesystem::temp_directory_path() / ("chat-" + std::to_string(getpid()) + ".json");
  for (const char* line : {"My name is Ada.", "What is my name?"}) {
    const allm::Result<std::string> answer = reply(engine, path, line);
    if (!answer) {
      std::cerr << answer.error().message() << '\n';
      return 1;
    }
    std::cout << *answer << '\n';
  }
  std::filesystem::remove(path);  // so that the next run starts anew
}
