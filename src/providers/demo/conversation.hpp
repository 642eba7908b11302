// What a conversation asks the demo model for.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/thread.hpp"

namespace allm::demo_model {

// A call of the last turn, with its result.
struct AnsweredCall {
  ToolCall call = {};
  std::string result = {};
  bool failed = false;
};

struct Turn {
  std::string text = {};                    // the user's last message; or the one before the demo model's questions
  std::vector<AnsweredCall> answered = {};  // if tools have run since that message
  // Answers to the demo model's questions about arguments of `tool`.
  std::optional<std::string> tool = std::nullopt;
  std::map<std::string, std::string> given = {};
  std::optional<std::string> answer = std::nullopt;  // to the question of a tool
  std::size_t attachments = 0;
};

Turn read_turn(const MessageList& messages);

// The question about a missing argument. read_turn() recognises it when the user has answered.
std::string question_about(const std::string& tool, const std::string& argument, std::string_view description);

}  // namespace allm::demo_model
