// Writes data types to a sink: templates over the sink, instantiated for TextSink in
// codec_to_text.cpp and for ValueSink in codec_to_value.cpp.
//
// `write(sink, value)` returns whether JSON can represent the value. If not, the sink's failure has
// the path and the reason.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "allm/serialize.hpp"

#include "data/base64.hpp"
#include "data/codec_field_writer.hpp"
#include "data/codec_fields.hpp"
#include "data/end_codec.hpp"
#include "data/names.hpp"
#include "data/overloaded.hpp"

namespace allm::codec {

template <class Sink>
bool write(Sink& sink, const std::string& value) {
  return sink.string(value);
}

template <class Sink>
bool write(Sink& sink, bool value) {
  sink.boolean(value);
  return true;
}

template <class Sink>
bool write(Sink& sink, std::int64_t value) {
  sink.integer(value);
  return true;
}

template <class Sink>
bool write(Sink& sink, int value) {
  sink.integer(value);
  return true;
}

template <class Sink>
bool write(Sink& sink, std::chrono::milliseconds value) {
  sink.integer(value.count());
  return true;
}

template <class Sink>
bool write(Sink& sink, double value) {
  return sink.real(value);
}

template <class Sink, class Enum>
  requires std::is_enum_v<Enum>
bool write(Sink& sink, Enum value) {
  sink.word(enum_name(value));
  return true;
}

// ---- tagged values

template <class Sink, class T>
bool write_tagged(Sink& sink, std::string_view tag, T& value) {
  sink.begin_tagged(tag);
  FieldWriter<Sink, std::remove_const_t<T>> writer(sink, value);
  if (!fields(writer, value)) return false;
  sink.end_tagged();
  return true;
}

template <class Sink, class T>
  requires(!kTag<T>.empty())
bool write(Sink& sink, const T& value) {
  return write_tagged(sink, kTag<T>, value);
}

// The metadata of a result as they are written; `buffer` is used if they differ from the member.
template <class T>
const Json& written_metadata(const T& result, Json& buffer) {
  constexpr bool is_step = std::is_same_v<T, StepResult>;
  if (std::holds_alternative<ended::Completed>(result.end)) return result.metadata;
  if (is_step && std::holds_alternative<ended::Failed>(result.end)) return result.metadata;
  return buffer = result.full_metadata();
}

template <class Sink>
bool write(Sink& sink, const StepResult& step) {
  Json buffer;
  StepParts<const StepResult, const Json> parts{step, written_metadata(step, buffer)};
  return write_tagged(sink, kTag<StepResult>, parts);
}

template <class Sink>
bool write(Sink& sink, const ChatResult& chat) {
  Json buffer;
  const EndFields end = end_fields(chat.end);
  ChatParts<const ChatResult, const Json, const EndFields> parts{chat, written_metadata(chat, buffer), end};
  return write_tagged(sink, kTag<ChatResult>, parts);
}

template <class Sink>
bool write(Sink& sink, const Error& error) {
  return std::visit(
      [&]<class Kind>(const Kind& detail) {
        ErrorParts<const Kind, const std::string, const Json> parts{detail, error.message(), error.metadata(),
                                                                    error.reported_cause()};
        return write_tagged(sink, kTag<Kind>, parts);
      },
      error.detail());
}

// ---- fields with a form of their own

template <class Sink, class T>
bool write_plain(Sink& sink, T& value) {
  sink.begin_object(2);
  FieldWriter<Sink, std::remove_const_t<T>> writer(sink, value);
  if (!fields(writer, value)) return false;
  sink.end_object();
  return true;
}

template <class Sink>
bool write(Sink& sink, const Part& part) {
  return std::visit(Overloaded{[&](const UnknownPart& unknown) { return sink.json(unknown.value); },
                               [&](const auto& known) { return write(sink, known); }},
                    part);
}

template <class Sink>
bool write(Sink& sink, const Content& content) {
  return std::visit([&](const auto& form) { return write(sink, form); }, content);
}

template <class Sink, class... Kind>
  requires(std::same_as<std::variant<Kind...>, decltype(Image::source)> ||
           std::same_as<std::variant<Kind...>, decltype(File::source)>)
bool write(Sink& sink, const std::variant<Kind...>& source) {
  const auto put = [&](const std::string& type, const std::string& value) {
    SourceParts<const std::string> parts{type, value};
    return write_plain(sink, parts);
  };
  return std::visit(Overloaded{[&](const MediaBytes& media) { return put("binary", base64_encode(media.bytes)); },
                               [&](const MediaBase64& media) { return put("base64", media.text); },
                               [&](const MediaUrl& media) { return put("url", media.url); },
                               [&](const MediaPath& media) { return put("file", media.path); },
                               [&](const MediaId& media) { return put("file_id", media.id); }},
                    source);
}

template <class Sink>
bool write(Sink& sink, const std::optional<ModelRef>& model) {
  if (!model.has_value()) {
    sink.null();
    return true;
  }
  return *model == ModelRef(model->id) ? sink.string(model->id) : write(sink, *model);
}

template <class Sink>
bool write(Sink& sink, const ResponseFormat& format) {
  return sink.json(format.json());
}
template <class Sink>
bool write(Sink& sink, const ToolChoice& choice) {
  return sink.json(choice.json());
}
template <class Sink>
bool write(Sink& sink, const PromptCache& cache) {
  return write_plain(sink, cache);
}
template <class Sink>
bool write(Sink& sink, const PathStep& step) {
  return std::visit([&](const auto& form) { return write(sink, form); }, step);
}
template <class Sink>
bool write(Sink& sink, const FieldError& error) {
  sink.begin_array(2);
  if (!write(sink, error.path)) return sink.failure().at(std::size_t{0});
  if (!write(sink, error.reason)) return sink.failure().at(std::size_t{1});
  sink.end_array();
  return true;
}

// ---- lists and absent values

template <class Sink, class List>
bool write_list(Sink& sink, const List& list) {
  sink.begin_array(list.size());
  std::size_t index = 0;
  for (const auto& element : list) {
    if (!write(sink, element)) return sink.failure().at(index);
    ++index;
  }
  sink.end_array();
  return true;
}

template <class Sink, class T>
bool write(Sink& sink, const std::vector<T>& list) {
  return write_list(sink, list);
}
template <class Sink>
bool write(Sink& sink, const MessageList& list) {
  return write_list(sink, list);
}

template <class Sink, class T>
bool write(Sink& sink, const std::optional<T>& value) {
  if (value.has_value()) return write(sink, *value);
  sink.null();
  return true;
}

}  // namespace allm::codec
