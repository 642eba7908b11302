// `allm ask`: one question to a model, the answer streamed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/command/spec.hpp"
#include "cli/terminal.hpp"

namespace allm::cli {

struct AskArguments {
  std::string model = {};  // provider:model, or provider@base_url:model
  std::string text = {};   // "" or "-": read from standard input; otherwise piped input is added after it
  std::optional<std::string> base_url = std::nullopt;
  std::optional<std::string> system = std::nullopt;
  std::vector<std::string> images = {};  // files and URLs
  std::vector<std::string> tools = {};   // tools files: with any, the model is called until it has an answer
  std::int64_t max_turns = 8;
};

// Returns the exit code: 0 after an answer, 1 if the answer is missing or incomplete, 2 if there was no question. Only
// the answer is written to `out`; tool calls are shown on `errors`. `input` is read unless it is a terminal. Blocks.
int ask_command(const AskArguments& arguments, std::FILE* input, const Terminal& out, const Terminal& errors);

CommandSpec ask_spec();

}  // namespace allm::cli
