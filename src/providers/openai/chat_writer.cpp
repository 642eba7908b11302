#include "providers/openai/chat_writer.hpp"

#include <utility>
#include <variant>

#include "providers/openai/request.hpp"
#include "providers/provider_json.hpp"

namespace allm::openai_wire {
namespace {

// The answer that a run without an answer gets where a server requires one.
constexpr std::string_view kNoAnswer = "(no answer)";

// Whether the message has neither text nor calls. Some servers refuse it, and it says nothing.
bool is_silent(const Message& message) {
  return message.role == Role::assistant && message.tool_calls.empty() && joined_text(message.content).empty();
}

}  // namespace

ChatWriter::ChatWriter(const OpenAiCodecOptions& options, std::span<const SendableMedia> media, std::string_view model,
                       const std::vector<Tool>& tools)
    : options_(options),
      media_(media),
      tools_(tools),
      refuses_user_after_tool_(refuses_user_after_tool(options.quirks, model)),
      calls_(chat_id_rule(options.quirks, model), tools) {}

bool ChatWriter::text(std::string_view name, std::string_view value) {
  sink_.key(name);
  return sink_.string(value) || failure_.at(name);
}

bool ChatWriter::json(std::string_view name, const Json& value) {
  sink_.key(name);
  return sink_.json(value) || failure_.at(name);
}

bool ChatWriter::body(const Json& members, const MessageList& messages) {
  sink_.begin_object();
  for (const auto& [name, value] : members.items()) {
    const bool is_messages = value.is_discarded() && name == "messages";
    const bool is_tools = value.is_discarded() && name == "tools";
    if (!is_messages && !is_tools) {
      if (!sink_.member(name, value)) return false;
      continue;
    }
    sink_.key(name);
    if (!(is_messages ? this->messages(messages) : tools())) return failure_.at(name);
  }
  sink_.end_object();
  sink_.finish();
  return true;
}

std::string ChatWriter::take() {
  std::string text = sink_.take();
  // The text is kept until the answer is complete.
  constexpr std::size_t kNegligible = 512;
  if (text.capacity() - text.size() > kNegligible) text.shrink_to_fit();
  return text;
}

bool ChatWriter::messages(const MessageList& messages) {
  sink_.begin_array();
  bool after_tool = false;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (is_silent(messages[i])) continue;
    const Role role = messages[i].role;
    if (after_tool && refuses_user_after_tool_ && (role == Role::user || role == Role::system)) missing_answer();
    after_tool = role == Role::tool;
    sink_.begin_object();
    if (!message(messages[i])) return failure_.at(i);
    sink_.end_object();
  }
  sink_.end_array();
  return true;
}

void ChatWriter::missing_answer() {
  sink_.begin_object();
  sink_.key("role");
  sink_.word(to_string(Role::assistant));
  text("content", kNoAnswer);
  sink_.end_object();
}

bool ChatWriter::tool_message(const Message& message) {
  const SentCall& call = calls_.answered(message.tool_call_id.value_or(""));
  if (!text("tool_call_id", call.id) || !content(message)) return false;
  return !options_.quirks.tool_names || call.name.empty() || text("name", call.name);
}

bool ChatWriter::message(const Message& message) {
  sink_.key("role");
  sink_.word(to_string(message.role));
  if (message.role == Role::tool) return tool_message(message);
  if (message.role == Role::assistant) {
    if (!assistant(message)) return false;
  } else if (!(message.role == Role::user ? user_content(message) : content(message))) {
    return false;
  }
  return !message.name || !options_.quirks.message_names || text("name", *message.name);
}

bool ChatWriter::content(const Message& message) {
  if (const auto* whole = std::get_if<std::string>(&message.content)) return text("content", *whole);
  return text("content", joined_text(message.content));
}

// Writes a text, or a list of parts if the message contains more than text.
bool ChatWriter::user_content(const Message& message) {
  if (!has_media(message.content)) return content(message);
  sink_.key("content");
  sink_.begin_array();
  std::size_t index = 0;
  for (const Part& given : std::get<std::vector<Part>>(message.content)) {
    if (std::holds_alternative<UnknownPart>(given)) continue;
    if (!part(given)) return failure_.at(index) || failure_.at("content");
    ++index;
  }
  sink_.end_array();
  return true;
}

bool ChatWriter::part(const Part& part) {
  sink_.begin_object();
  sink_.key("type");
  if (const auto* words = std::get_if<TextPart>(&part)) {
    sink_.word("text");
    if (!text("text", words->text)) return false;
    sink_.end_object();
    return true;
  }
  const SendableMedia& media = media_.front();
  media_ = media_.subspan(1);
  bool written = false;
  switch (media.kind) {
    case SendableMedia::Kind::image:
      written = image(std::get<ImagePart>(part), media);
      break;
    case SendableMedia::Kind::file:
      written = file(media);
      break;
    case SendableMedia::Kind::audio:
      written = audio(media);
      break;
  }
  sink_.end_object();
  return written;
}

bool ChatWriter::image(const ImagePart& part, const SendableMedia& media) {
  sink_.word("image_url");
  sink_.key("image_url");
  sink_.begin_object();
  if (!text("url", media.uri())) return failure_.at("image_url");
  sink_.key("detail");
  sink_.word(to_string(part.detail));
  sink_.end_object();
  return true;
}

bool ChatWriter::file(const SendableMedia& media) {
  if (options_.quirks.files == OpenAiQuirks::Files::document_url) {
    sink_.word("document_url");
    return text("document_url", media.uri());
  }
  sink_.word("file");
  sink_.key("file");
  sink_.begin_object();
  const bool written = media.file_id.empty() ? text("filename", file_name_of(media)) && text("file_data", media.uri())
                                             : text("file_id", media.file_id);
  sink_.end_object();
  return written || failure_.at("file");
}

bool ChatWriter::audio(const SendableMedia& media) {
  sink_.word("input_audio");
  sink_.key("input_audio");
  sink_.begin_object();
  const bool written = text("data", media.base64) && text("format", audio_format_of(media.mime_type));
  sink_.end_object();
  return written || failure_.at("input_audio");
}

bool ChatWriter::assistant(const Message& message) {
  const OpenAiQuirks& quirks = options_.quirks;
  const bool has_calls = !message.tool_calls.empty();
  if (has_calls && quirks.null_content && joined_text(message.content).empty()) {
    sink_.key("content");
    sink_.null();
  } else if (!content(message)) {
    return false;
  }
  if (!reasoning(message)) return false;
  if (!has_calls) return true;
  sink_.key("tool_calls");
  sink_.begin_array();
  for (std::size_t i = 0; i < message.tool_calls.size(); ++i) {
    if (!call(message.tool_calls[i])) return failure_.at(i) || failure_.at("tool_calls");
  }
  sink_.end_array();
  return true;
}

// Writes the state that the provider needs, if this provider made the message.
bool ChatWriter::reasoning(const Message& message) {
  const Json* state = find_member(message.metadata, options_.provider);
  if (options_.quirks.echo_reasoning == OpenAiQuirks::EchoReasoning::always) {
    const std::string_view own = state == nullptr ? std::string_view() : text_member(*state, "reasoning_content");
    if (!text("reasoning_content", own)) return false;
  }
  const Json* details = state == nullptr ? nullptr : find_member(*state, "reasoning_details");
  return details == nullptr || json("reasoning_details", *details);
}

bool ChatWriter::call(const ToolCall& call) {
  const SentCall& sent = calls_.add(call.id, call.name);
  sink_.begin_object();
  if (!text("id", sent.id)) return false;
  sink_.key("type");
  sink_.word("function");
  sink_.key("function");
  sink_.begin_object();
  if (!text("name", sent.name)) return failure_.at("function");
  const Result<std::string> arguments =
      options_.quirks.json_arguments ? json_arguments_text(call) : arguments_text(call);
  if (!arguments) {
    error_ = arguments.error();
    return false;
  }
  if (!text("arguments", *arguments)) return failure_.at("function");
  sink_.end_object();
  if (const Json* state = find_member(call.metadata, options_.provider)) {
    const Json* extra = find_member(*state, "extra_content");
    if (extra != nullptr && !json("extra_content", *extra)) return false;
  }
  sink_.end_object();
  return true;
}

bool ChatWriter::tools() {
  sink_.begin_array();
  for (std::size_t i = 0; i < tools_.size(); ++i) {
    sink_.begin_object();
    sink_.key("type");
    sink_.word("function");
    sink_.key("function");
    if (!function(tools_[i])) return failure_.at("function") || failure_.at(i);
    sink_.end_object();
  }
  sink_.end_array();
  return true;
}

bool ChatWriter::function(const Tool& tool) {
  sink_.begin_object();
  if (!text("name", tool.name)) return false;
  if (!tool.description.empty() && !text("description", tool.description)) return false;
  if (!json("parameters", parameters_of(tool))) return false;
  if (const Json* strict = find_member(tool.metadata, "strict"); strict != nullptr && strict->is_boolean()) {
    sink_.key("strict");
    sink_.boolean(strict->get<bool>());
  }
  sink_.end_object();
  return true;
}

}  // namespace allm::openai_wire
