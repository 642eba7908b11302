#include "tests/generators.hpp"

#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

namespace allm::gen {

std::int64_t Random::integer() {
  switch (below(4)) {
    case 0:
      return static_cast<std::int64_t>(below(10));
    case 1:
      return -static_cast<std::int64_t>(below(1000));
    case 2:
      return pick<std::int64_t>(
          {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), 0});
    default:
      return static_cast<std::int64_t>(bits());
  }
}

double Random::real() {
  switch (below(4)) {
    case 0:
      return pick<double>({0.0, -0.0, 1.0, -1.0, 0.1, 1e22, 1e-7, 9007199254740993.0});
    case 1:
      return pick<double>({std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest(),
                           std::numeric_limits<double>::min(), std::numeric_limits<double>::denorm_min(),
                           std::numeric_limits<double>::epsilon()});
    case 2:
      return static_cast<double>(below(100000)) / 100;
    default: {
      const double value = std::bit_cast<double>(bits());
      return std::isfinite(value) ? value : 0.5;
    }
  }
}

void Random::append_character(std::string& text) {
  const auto put = [&text](std::uint64_t byte) { text.push_back(static_cast<char>(byte)); };
  switch (below(12)) {
    case 0:
      put(below(0x20));  // control characters, including NUL
      return;
    case 1:
      text += pick<std::string>({"\"", "\\", "/", "\x7f", "{", "'"});
      return;
    case 2: {
      const std::uint64_t code = 0x80 + below(0x800 - 0x80);
      put(0xC0 | code >> 6U);
      put(0x80 | (code & 0x3FU));
      return;
    }
    case 3: {
      std::uint64_t code = 0x800 + below(0x10000 - 0x800);
      if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;  // surrogates are not characters
      put(0xE0 | code >> 12U);
      put(0x80 | (code >> 6U & 0x3FU));
      put(0x80 | (code & 0x3FU));
      return;
    }
    case 4: {
      const std::uint64_t code = 0x10000 + below(0x110000 - 0x10000);
      put(0xF0 | code >> 18U);
      put(0x80 | (code >> 12U & 0x3FU));
      put(0x80 | (code >> 6U & 0x3FU));
      put(0x80 | (code & 0x3FU));
      return;
    }
    default:
      put('a' + below(26));
  }
}

std::string Random::text() {
  std::size_t length = below(12);
  if (chance(8)) length = below(80);
  if (chance(400)) length = 4000 + below(400);
  std::string result;
  while (length-- > 0) append_character(result);
  return result;
}

std::string Random::bytes() {
  std::string result;
  for (std::size_t left = below(20); left > 0; --left) result.push_back(static_cast<char>(below(256)));
  return result;
}

Json Random::json(int depth) {
  if (chance(200)) {  // deep and narrow
    Json value = integer();
    for (std::size_t left = below(60); left > 0; --left) {
      Json outer;
      if (chance()) {
        outer.push_back(std::move(value));
      } else {
        outer[text()] = std::move(value);
      }
      value = std::move(outer);
    }
    return value;
  }
  switch (below(depth > 0 ? 9 : 7)) {
    case 0:
      return nullptr;
    case 1:
      return chance();
    case 2:
      return integer();
    case 3:
      return bits();
    case 4:
      return real();
    case 5:
    case 6:
      return text();
    case 7:
      return object(depth - 1);
    default: {
      Json array = Json::array();
      for (std::size_t left = below(4); left > 0; --left) array.push_back(json(depth - 1));
      return array;
    }
  }
}

Json Random::object(int depth) {
  Json result = Json::object();
  // Sometimes more keys than a linear search handles.
  for (std::size_t left = chance(200) ? 40 : below(4); left > 0; --left) result[text()] = json(depth - 1);
  return result;
}

Json Random::metadata() {
  Json result = chance() ? Json::object() : object(2);
  if (chance(20)) result = nullptr;
  return result;
}

Json Random::unknown_fields() {
  if (!chance(6)) return nullptr;
  Json result = Json::object();
  for (std::size_t left = 1 + below(3); left > 0; --left) result["x_" + text()] = json(2);
  return result;
}

ToolCall Random::tool_call() {
  return {.id = text(),
          .name = text(),
          .arguments = object(2),
          .raw_arguments = maybe([&] { return text(); }),
          .metadata = metadata(),
          .unknown_fields = unknown_fields()};
}

Tool Random::tool() {
  return {.name = text(),
          .description = text(),
          .schema = object(3),
          .manual = chance(),
          .compact = chance(),
          .summary = maybe([&] { return text(); }),
          .validate_arguments = chance(),
          .timeout = maybe([&] { return std::chrono::milliseconds(integer()); }),
          .metadata = metadata(),
          .unknown_fields = unknown_fields()};
}

decltype(Image::source) Random::source() {
  switch (below(4)) {
    case 0:
      return MediaBytes{bytes()};
    case 1:
      return MediaBase64{text()};
    case 2:
      return MediaUrl{text()};
    default:
      return MediaPath{text()};
  }
}

Image Random::image() {
  Image image;
  image.source = source();
  image.mime_type = maybe([&] { return text(); });
  image.width = maybe([&] { return integer(); });
  image.height = maybe([&] { return integer(); });
  image.prompt = maybe([&] { return text(); });
  image.revised_prompt = maybe([&] { return text(); });
  image.metadata = metadata();
  image.unknown_fields = unknown_fields();
  return image;
}

TextPart Random::text_part() { return {.text = text(), .metadata = metadata(), .unknown_fields = unknown_fields()}; }

ImagePart Random::image_part() {
  return {.image = image(),
          .detail = any_of(ImageDetail::high),
          .metadata = metadata(),
          .unknown_fields = unknown_fields()};
}

File Random::file() {
  File file;
  if (chance(4)) {
    file.source = MediaId{text()};
  } else {
    std::visit([&file](auto&& kind) { file.source = std::move(kind); }, source());
  }
  file.mime_type = maybe([&] { return text(); });
  file.name = maybe([&] { return text(); });
  file.metadata = metadata();
  file.unknown_fields = unknown_fields();
  return file;
}

FilePart Random::file_part() { return {.file = file(), .metadata = metadata(), .unknown_fields = unknown_fields()}; }

Audio Random::audio() {
  return {.source = source(),
          .mime_type = maybe([&] { return text(); }),
          .metadata = metadata(),
          .unknown_fields = unknown_fields()};
}

AudioPart Random::audio_part() {
  return {.audio = audio(), .metadata = metadata(), .unknown_fields = unknown_fields()};
}

Part Random::part() {
  switch (below(8)) {
    case 0:
      return UnknownPart{Json{{"__type__", "ALLM.VideoPart"}, {"data", object(2)}}};
    case 3:
      return file_part();
    case 4:
      return audio_part();
    case 1:
      return UnknownPart{integer()};
    case 2:
      return image_part();
    default:
      return text_part();
  }
}

Content Random::content() {
  if (!chance(4)) return text();
  return list([&] { return part(); });
}

Message Random::message() {
  Message message = {.role = any_of(Role::tool),
                     .content = content(),
                     .name = maybe([&] { return text(); }),
                     .tool_call_id = maybe([&] { return text(); }),
                     .metadata = metadata(),
                     .unknown_fields = unknown_fields()};
  if (chance(4)) message.tool_calls = list([&] { return tool_call(); });
  // Tool calls are stored in the metadata, which is then an object. Without calls, `tool_calls` may have any value.
  if (!message.tool_calls.empty() && message.metadata.is_null()) message.metadata = Json::object();
  if (message.tool_calls.empty() && chance(20)) {
    message.metadata = {{"tool_calls", chance() ? Json::array() : Json(text())}};
  }
  return message;
}

Thread Random::thread() {
  Thread thread(list([&] { return message(); }));
  thread.metadata = metadata();
  thread.unknown_fields = unknown_fields();
  return thread;
}

Thread Random::conversation() {
  std::vector<Message> messages;
  std::vector<std::string> open;
  for (std::size_t left = below(40); left > 0; --left) {
    switch (below(8)) {
      case 0:
        messages.push_back(allm::system("rules"));
        break;
      case 1:
      case 2:
        messages.push_back(user(std::string(below(60), 'u')));
        break;
      case 3:
      case 4: {
        Message message = assistant(std::string(below(60), 'a'));
        for (std::size_t calls = below(4); calls > 0; --calls) {
          message.tool_calls.push_back({.id = "c" + std::to_string(below(6)), .name = "tool"});
          open.push_back(message.tool_calls.back().id);
        }
        messages.push_back(std::move(message));
        break;
      }
      default: {
        const bool is_orphan = open.empty() || chance(12);
        const std::size_t index = is_orphan ? 0 : below(open.size());
        messages.push_back(
            tool_result(is_orphan ? "c" + std::to_string(below(6)) : open[index], std::string(below(120), 't')));
        if (!is_orphan) open.erase(open.begin() + static_cast<std::ptrdiff_t>(index));
      }
    }
  }
  return {std::move(messages)};
}

ModelRef Random::model() {
  ModelRef model(text());
  if (chance()) return model;
  model.provider = maybe([&] { return text(); });
  model.capabilities = json(2);
  model.limits = json(2);
  model.pricing = json(2);
  model.refuses = json(2);
  model.metadata = metadata();
  model.unknown_fields = unknown_fields();
  return model;
}

Request Random::request() {
  Request request;
  request.messages = thread().messages;
  request.model = maybe([&] { return model(); });
  request.temperature = maybe([&] { return real(); });
  request.max_tokens = maybe([&] { return integer(); });
  request.response_format = maybe([&] {
    if (chance()) return ResponseFormat::json_schema(text(), object(2), chance());
    return pick<ResponseFormat>({ResponseFormat::text(), ResponseFormat::json_object(),
                                 ResponseFormat::from_json({{"type", text()}}), ResponseFormat::from_json(text())});
  });
  request.tools = list([&] { return tool(); });
  request.tool_choice = maybe([&] {
    return pick<ToolChoice>({ToolChoice::automatic(), ToolChoice::none(), ToolChoice::required(),
                             ToolChoice::from_json(text()), ToolChoice::from_json(object(1))});
  });
  request.stream = chance();
  request.structured_finalize = chance();
  request.prompt_cache =
      maybe([&] { return PromptCache{maybe([&] { return text(); }), any_of(PromptCache::Retention::long_term)}; });
  request.options = object(2);
  request.metadata = metadata();
  request.unknown_fields = unknown_fields();
  return request;
}

Usage Random::usage() {
  Usage usage;
  for (auto* counter : {&usage.input_tokens, &usage.output_tokens, &usage.cached_input_tokens,
                        &usage.cache_write_input_tokens, &usage.reasoning_tokens, &usage.total_tokens}) {
    *counter = maybe([&] { return integer(); });
  }
  for (auto* cost : {&usage.input_cost, &usage.output_cost, &usage.total_cost}) *cost = maybe([&] { return real(); });
  usage.tool_usage = metadata();
  usage.extra = metadata();
  usage.unknown_fields = unknown_fields();
  return usage;
}

Response Random::response() {
  Response response;
  response.id = maybe([&] { return text(); });
  response.request_id = maybe([&] { return text(); });
  response.model = maybe([&] { return text(); });
  response.message = maybe([&] { return message(); });
  response.output_text = maybe([&] { return text(); });
  response.tool_calls = list([&] { return tool_call(); });
  response.finish_reason = maybe([&] { return any_of(FinishReason::other); });
  response.raw_finish_reason = maybe([&] { return text(); });
  response.reasoning = maybe([&] { return text(); });
  response.raw = json(2);
  response.usage = usage();
  response.metadata = metadata();
  if (chance(4)) response.error = error();
  if (response.error.has_value() && response.metadata.is_null()) response.metadata = Json::object();
  response.unknown_fields = unknown_fields();
  return response;
}

PendingToolCall Random::pending_tool_call() { return {tool_call(), any_of(PendingKind::suspended)}; }

ended::AskUser Random::question(const Response& response) {
  ended::AskUser asked{.question = text(), .options = object(2), .tool_call_id = text()};
  if (!response.tool_calls.empty()) asked.tool_call_id = response.tool_calls.front().id;
  for (const ToolCall& call : response.tool_calls) {
    if (call.id != asked.tool_call_id) continue;
    asked.tool_name = call.name;
    break;
  }
  return asked;
}

StepEnd Random::step_end(const Response& response) {
  switch (below(response.finish_reason == FinishReason::error ? 5 : 7)) {
    case 0:
      return question(response);
    case 1:
      return ended::Halted{.reason = "own " + text(), .result = json(2), .tool_call_id = text()};
    case 2:
      return ended::ToolError{text(), maybe([&] { return error(); })};
    case 3:
      return ended::Manual{list([&] { return pending_tool_call(); })};
    case 4:
      return ended::Cancelled{};
    default:
      if (response.finish_reason == FinishReason::error) return ended::Failed{response.error};
      return ended::Completed{};
  }
}

ended::Limit Random::limit() {
  ended::Limit limit{.which = any_of(ended::Limit::Which::max_repeated_failures), .value = integer()};
  if (limit.which == ended::Limit::Which::max_cost) {
    limit.value = real();
    limit.cost_unknown = chance();
    limit.needed = maybe([&] { return std::variant<std::int64_t, double>(real()); });
    limit.budget = chance();
  } else if (limit.which == ended::Limit::Which::max_total_tokens) {
    limit.needed = maybe([&] { return std::variant<std::int64_t, double>(integer()); });
    limit.budget = chance();
  } else if (limit.which == ended::Limit::Which::max_repeated_failures) {
    limit.tool_name = text();
    limit.tool_call_id = text();
  }
  return limit;
}

RunEnd Random::run_end(const Response& response) {
  switch (below(10)) {
    case 0:
      return question(response);
    case 1:
      return ended::Halted{.reason = "own " + text(), .result = json(2), .tool_call_id = text()};
    case 2:
      return ended::ToolError{text(), maybe([&] { return error(); })};
    case 3:
      return ended::Manual{list([&] { return pending_tool_call(); }), integer()};
    case 4:
      return ended::Cancelled{};
    case 5:
      return ended::Failed{maybe([&] { return error(); })};
    case 6:
      return limit();
    case 7:
      return ended::MaxTurns{integer()};
    case 8:
      return ended::HaltWhen{integer()};
    default:
      return ended::Completed{};
  }
}

StepResult Random::step_result() {
  StepResult step;
  step.thread = thread();
  step.response = response();
  step.tool_results = list([&] { return message(); });
  step.done = chance();
  step.end = step_end(step.response);
  step.metadata = std::holds_alternative<ended::Completed>(step.end) ? metadata() : object(2);
  step.unknown_fields = unknown_fields();
  return step;
}

ChatResult Random::chat_result() {
  ChatResult result;
  result.thread = thread();
  result.final_response = maybe([&] { return response(); });
  result.end = run_end(result.final_response.value_or(Response()));
  if (chance()) result.steps = list([&] { return step_result(); });
  result.usage = usage();
  result.metadata = object(2);
  result.unknown_fields = unknown_fields();
  return result;
}

Session Random::session() {
  Session session;
  session.id = maybe([&] { return text(); });
  session.thread = thread();
  session.status = any_of(SessionStatus::error);
  session.pending_tool_calls = list([&] { return pending_tool_call(); });
  session.pending_question = maybe([&] { return text(); });
  session.pending_tool_call_id = maybe([&] { return text(); });
  session.context = object(3);
  session.metadata = metadata();
  session.unknown_fields = unknown_fields();
  return session;
}

Path Random::path() {
  return list([&]() -> PathStep {
    if (chance()) return integer();
    return text();
  });
}

Error Random::error() { return error_of_kind(below(std::variant_size_v<Error::Detail>)); }

Error Random::error_of_kind(std::size_t kind) {
  const auto maybe_text = [&] { return maybe([&] { return text(); }); };
  const auto detail = [&]() -> Error::Detail {
    switch (kind) {
      case 0:
        return EngineError{any_of(EngineError::Reason::catalog_not_loaded), maybe_text()};
      case 1:
        return AdapterError{any_of(AdapterError::Reason::unknown), maybe_text(),
                            maybe([&] { return static_cast<int>(integer()); }), maybe([&] { return integer(); }),
                            maybe_text()};
      case 2:
        return StreamError{any_of(StreamError::Reason::unknown), maybe_text(), maybe([&] { return integer(); })};
      case 3:
        return ValidationError{any_of(ValidationError::Reason::invalid_scenario),
                               list([&] { return FieldError{path(), text()}; })};
      case 4:
        return ToolError{any_of(ToolError::Reason::overloaded), maybe_text(), maybe_text()};
      case 5:
        return SessionError{any_of(SessionError::Reason::no_pending_tool_call)};
      default:
        return StoreError{any_of(StoreError::Reason::future_version), maybe_text()};
    }
  };
  return std::visit([&](auto kind_of) { return Error(std::move(kind_of), text(), object(2), json(2)); }, detail());
}

}  // namespace allm::gen
