// Writes messages and tools of a Chat Completions request directly as text. Building JSON values first would cost
// several times as much, for every message of every request.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allm/error.hpp"
#include "allm/thread.hpp"
#include "allm/tool.hpp"

#include "data/text_sink.hpp"
#include "providers/call_ids.hpp"
#include "providers/content.hpp"
#include "providers/openai/openai.hpp"

namespace allm::openai_wire {

// One thread at a time. Its functions return false for content that cannot be sent; error() then says why, with the
// path in the body.
class ChatWriter {
 public:
  // `media` are those of the messages, in order, checked against chat_rules. `options`, `media` and `tools` must
  // outlive the writer.
  ChatWriter(const OpenAiCodecOptions& options, std::span<const SendableMedia> media, std::string_view model,
             const std::vector<Tool>& tools);

  // Writes a body in the order of its members. A member `messages` or `tools` whose value is later() is written from
  // the argument and the tools.
  bool body(const Json& members, const MessageList& messages);
  Error error() const { return error_ ? *error_ : failure_.error(); }
  std::string take();

  // A placeholder that no JSON text can contain.
  static Json later() { return Json(Json::value_t::discarded); }

 private:
  bool messages(const MessageList& messages);
  void missing_answer();
  bool message(const Message& message);
  bool tool_message(const Message& message);
  bool content(const Message& message);
  bool user_content(const Message& message);
  bool part(const Part& part);
  bool image(const ImagePart& part, const SendableMedia& media);
  bool file(const SendableMedia& media);
  bool audio(const SendableMedia& media);
  bool assistant(const Message& message);
  bool reasoning(const Message& message);
  bool call(const ToolCall& call);
  bool tools();
  bool function(const Tool& tool);
  // Write a member; if that fails, its name is added to the error's path.
  bool text(std::string_view name, std::string_view value);
  bool json(std::string_view name, const Json& value);

  const OpenAiCodecOptions& options_;
  std::span<const SendableMedia> media_;
  const std::vector<Tool>& tools_;
  const bool refuses_user_after_tool_;
  SentCalls calls_;
  codec::Failure failure_;
  codec::TextSink sink_{failure_, 1024};
  std::optional<Error> error_;  // an error that is not about a single value
};

}  // namespace allm::openai_wire
