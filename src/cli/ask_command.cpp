#include "cli/ask_command.hpp"

#include <array>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "allm/chat.hpp"
#include "allm/providers.hpp"

#include "cli/user_models.hpp"

namespace allm::cli {
namespace {

std::string read_all(std::FILE* file) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file)) text.append(buffer.data(), count);
  return text;
}

// What a person typed and what a pipe brings, one after the other.
std::string question(const AskArguments& arguments, std::FILE* input) {
  const bool piped = isatty(fileno(input)) == 0;
  std::string text = arguments.text == "-" ? "" : arguments.text;
  if (!piped && arguments.text != "-") return text;
  std::string read = read_all(input);
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

Result<std::string> model_of(const AskArguments& arguments) {
  if (!arguments.base_url) return arguments.model;
  Result<ModelName> name = parse_model_name(arguments.model);
  if (!name) return std::unexpected(name.error());
  return name->provider + "@" + *arguments.base_url + ":" + name->model;
}

int fail(const Error& error, const Terminal& errors) {
  errors.write(errors.paint(Style::red, "allm ask: ") + printable(error.message()) + "\n");
  return 1;
}

}  // namespace

int ask_command(const AskArguments& arguments, std::FILE* input, const Terminal& out, const Terminal& errors) {
  std::string text = question(arguments, input);
  if (text.empty() && arguments.images.empty()) {
    errors.write("allm ask: there is nothing to ask; give a text, or pipe one in\n");
    return 2;
  }
  const Result<std::string> model = model_of(arguments);
  if (!model) return fail(model.error(), errors);
  const Result<std::shared_ptr<const Catalogue>> models = user_catalogue();
  if (!models) return fail(models.error(), errors);
  const Result<ModelName> name = parse_model_name(*model);
  if (!name) return fail(name.error(), errors);
  // Somebody else's server has its own models, whatever they are called.
  const Result<Engine> engine = engine_for(*model, {.catalogue = name->base_url.empty() ? *models : nullptr});
  if (!engine) return fail(engine.error(), errors);

  Request request;
  if (arguments.system) request.messages.push_back(system(*arguments.system));
  request.messages.push_back(message_of(arguments, std::move(text)));
  StreamCollector collector;
  bool ends_line = true;
  for (const Event& event : stream_generate(*engine, std::move(request))) {
    collector.apply(event);
    if (const auto* delta = event.get_if<TextDelta>(); delta != nullptr && !delta->delta.empty()) {
      out.write(out.interactive() ? printable_lines(delta->delta) : delta->delta);
      ends_line = delta->delta.ends_with('\n');
    }
  }
  if (!ends_line) out.write("\n");
  const Result<Response> response = collector.response();
  if (!response) return fail(response.error(), errors);
  if (response->error) return fail(*response->error, errors);
  if (response->finish_reason == FinishReason::length) {
    errors.write(errors.paint(Style::yellow, "allm ask: ") + "the answer was cut off at the model's limit\n");
  } else if (response->finish_reason == FinishReason::content_filter) {
    errors.write(errors.paint(Style::yellow, "allm ask: ") + "the provider's filter ended the answer\n");
    return 1;
  }
  return 0;
}

}  // namespace allm::cli
