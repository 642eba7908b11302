#include "cli/ask_command.hpp"

#include <memory>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "allm/chat.hpp"

#include "cli/command_engine.hpp"
#include "cli/files.hpp"

namespace allm::cli {
namespace {

// The text of the command line, followed by piped input.
std::string question(const AskArguments& arguments, std::FILE* input) {
  const bool piped = isatty(fileno(input)) == 0;
  std::string text = arguments.text == "-" ? "" : arguments.text;
  if (!piped && arguments.text != "-") return text;
  std::string read = read_input(input);
  while (read.ends_with('\n')) read.pop_back();
  if (!text.empty() && !read.empty()) text += "\n\n";
  return text + read;
}

Message message_of(const AskArguments& arguments, std::string text) {
  if (arguments.images.empty()) return user(std::move(text));
  std::vector<Part> parts;
  if (!text.empty()) parts.emplace_back(TextPart{std::move(text)});
  for (const std::string& image : arguments.images) {
    const bool remote = image.starts_with("https://") || image.starts_with("http://");
    parts.emplace_back(ImagePart{.image = remote ? Image{.source = ImageUrl{image}} : image_from_file(image)});
  }
  return user(std::move(parts));
}

// " (openai, HTTP 429, https://…)", as far as the error knows them.
std::string exchange_of(const Error& error) {
  std::string text;
  const Json& metadata = error.metadata();
  for (const char* name : {"provider", "http_status", "url"}) {
    const auto found = metadata.find(name);
    if (found == metadata.end()) continue;
    text += text.empty() ? " (" : ", ";
    text += found->is_string() ? found->get<std::string>() : "HTTP " + found->dump();
  }
  return text.empty() ? text : text + ")";
}

int fail(const Error& error, const Terminal& errors) {
  errors.write(errors.paint(Style::red, "allm ask: ") + printable(error.message() + exchange_of(error)) + "\n");
  return 1;
}

// Shows a run while it goes on: the text on `out`, tool calls on `errors`.
class Display {
 public:
  Display(const Terminal& out, const Terminal& errors) : out_(out), errors_(errors) {}

  void show(const Event& event) {
    if (const auto* delta = event.get_if<TextDelta>(); delta != nullptr && !delta->delta.empty()) {
      out_.write(out_.interactive() ? printable_lines(delta->delta) : delta->delta);
      ends_line_ = delta->delta.ends_with('\n');
    } else if (const auto* started = event.get_if<ToolExecutionStarted>()) {
      end_line();
      note("-> " + started->name + " " + started->arguments.dump(-1, ' ', false, Json::error_handler_t::replace));
    } else if (const auto* completed = event.get_if<ToolExecutionCompleted>()) {
      if (std::holds_alternative<ToolFailure>(completed->outcome)) note("   " + completed->name + " failed");
    }
  }
  void end_line() {
    if (!ends_line_) out_.write("\n");
    ends_line_ = true;
  }

 private:
  void note(const std::string& text) {
    constexpr std::size_t kWidth = 200;
    errors_.write(errors_.paint(Style::dim, printable(text.substr(0, kWidth))) + "\n");
  }

  const Terminal& out_;
  const Terminal& errors_;
  bool ends_line_ = true;
};

// Reports how the answer ended and returns the exit code.
int verdict(const Response& response, const Terminal& errors) {
  if (response.error) return fail(*response.error, errors);
  if (response.finish_reason == FinishReason::length) {
    errors.write(errors.paint(Style::yellow, "allm ask: ") + "the answer was cut off at the model's limit\n");
  } else if (response.finish_reason == FinishReason::content_filter) {
    errors.write(errors.paint(Style::yellow, "allm ask: ") + "the provider's filter ended the answer\n");
    return 1;
  }
  return 0;
}

int ask_once(const Engine& engine, std::vector<Message> messages, const Terminal& out, const Terminal& errors) {
  Display display(out, errors);
  StreamCollector collector;
  for (const Event& event : stream_generate(engine, {.messages = std::move(messages)})) {
    collector.apply(event);
    display.show(event);
  }
  display.end_line();
  const Result<Response> response = collector.response();
  return response ? verdict(*response, errors) : fail(response.error(), errors);
}

int ask_with_tools(const Engine& engine, std::vector<Message> messages, std::int64_t max_turns, const Terminal& out,
                   const Terminal& errors) {
  Display display(out, errors);
  StreamCollector collector;
  for (const Event& event : stream(engine, Thread(std::move(messages)), {.max_turns = max_turns})) {
    collector.apply(event);
    display.show(event);
  }
  display.end_line();
  const Result<ChatResult> result = collector.chat_result();
  if (!result) return fail(result.error(), errors);
  if (const Error* error = result->error()) return fail(*error, errors);
  if (const std::string* question = result->pending_question()) {
    out.write(printable_lines(*question) + "\n");
  } else if (!std::holds_alternative<ended::Completed>(result->end)) {
    errors.write(errors.paint(Style::yellow, "allm ask: ") +
                 "the run ended without an answer: " + printable(result->halted_reason()) + "\n");
    return 1;
  }
  return result->final_response ? verdict(*result->final_response, errors) : 0;
}

}  // namespace

int ask_command(const AskArguments& arguments, std::FILE* input, const Terminal& out, const Terminal& errors) {
  std::string text = question(arguments, input);
  if (text.empty() && arguments.images.empty()) {
    errors.write("allm ask: no question: give a text, or pipe one in\n");
    return 2;
  }
  const Result<Engine> engine = command_engine(arguments.model, arguments.base_url, arguments.tools);
  if (!engine) return fail(engine.error(), errors);

  std::vector<Message> messages;
  if (arguments.system) messages.push_back(system(*arguments.system));
  messages.push_back(message_of(arguments, std::move(text)));
  if (arguments.tools.empty()) return ask_once(*engine, std::move(messages), out, errors);
  return ask_with_tools(*engine, std::move(messages), arguments.max_turns, out, errors);
}

CommandSpec ask_spec() {
  auto arguments = std::make_shared<AskArguments>();
  CommandSpec spec{
      .name = "ask",
      .summary = "Ask a model one question; the answer is streamed",
      .description =
          "The question is TEXT, followed by piped input, if there is any. Only the answer is written to "
          "standard output. With tools, the model is called until it has an answer; tool calls are shown on "
          "standard error.\n\n"
          "If the call fails, the last line on standard error is the message, followed by the provider, the "
          "HTTP status and the URL of the request, without its query.",
      .options = {{.names = "text",
                   .value = "TEXT",
                   .help = "The question. - means that it is standard input alone.",
                   .target = &arguments->text}},
      .examples = {{"allm ask -m ollama:qwen3:8b \"Why is the sky blue?\"", "Ask a local model."},
                   {"git diff | allm ask -m anthropic:claude-sonnet-4-6 \"Review this change.\"",
                    "The question is followed by the output of a program."}},
      .exit_codes = {{0, "The model has answered."},
                     {1, "The answer is missing or incomplete."},
                     {2, "The command line is wrong, or there is no question."}},
      .sections = {models_section()}};
  for (OptionSpec& option : engine_options(arguments->model, arguments->base_url, arguments->tools)) {
    spec.options.push_back(std::move(option));
  }
  spec.options.push_back(
      {.names = "-s,--system", .value = "TEXT", .help = "Instructions for the model.", .target = &arguments->system});
  spec.options.push_back({.names = "-i,--image",
                          .value = "FILE|URL",
                          .help = "An image for the model: a file or a URL.",
                          .target = &arguments->images,
                          .completion = Completion::files});
  spec.options.push_back({.names = "--max-turns",
                          .value = "N",
                          .help = "The most model calls of a run with tools.",
                          .target = &arguments->max_turns,
                          .minimum = 1,
                          .maximum = 1000,
                          .show_default = true});
  spec.run = [arguments](const CommandContext& context) {
    return ask_command(*arguments, context.in, context.out, context.errors);
  };
  return spec;
}

}  // namespace allm::cli
