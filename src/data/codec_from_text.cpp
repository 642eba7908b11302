#include "data/codec_read.hpp"
#include "data/json_text.hpp"

namespace allm {

namespace {

template <class T>
Result<T> from_text(std::string_view text, const ReadLimits& limits, Result<T> (*from_value)(const Json&)) {
  const ReadLimits kept = codec::effective(limits);
  codec::Reader reader(kept);
  codec::Document document(text, kept, reader.values_left(), reader.failure());
  switch (document.form()) {
    case codec::Document::Form::text:
      return codec::read_whole<T>(reader, document.root());
    case codec::Document::Form::value:
      return from_value(document.value());
    case codec::Document::Form::broken:
      break;
  }
  return std::unexpected(reader.failure().error());
}

}  // namespace

template <class T>
Result<T> from_json(std::string_view text, const ReadLimits& limits) {
  return from_text<T>(text, limits, &from_json_value<T>);
}

Result<AnyValue> any_from_json(std::string_view text, const ReadLimits& limits) {
  return from_text<AnyValue>(text, limits, &codec::any_from_json_value);
}

template Result<Message> from_json(std::string_view text, const ReadLimits& limits);
template Result<TextPart> from_json(std::string_view text, const ReadLimits& limits);
template Result<ImagePart> from_json(std::string_view text, const ReadLimits& limits);
template Result<Image> from_json(std::string_view text, const ReadLimits& limits);
template Result<FilePart> from_json(std::string_view text, const ReadLimits& limits);
template Result<File> from_json(std::string_view text, const ReadLimits& limits);
template Result<AudioPart> from_json(std::string_view text, const ReadLimits& limits);
template Result<Audio> from_json(std::string_view text, const ReadLimits& limits);
template Result<ToolCall> from_json(std::string_view text, const ReadLimits& limits);
template Result<Tool> from_json(std::string_view text, const ReadLimits& limits);
template Result<Request> from_json(std::string_view text, const ReadLimits& limits);
template Result<Response> from_json(std::string_view text, const ReadLimits& limits);
template Result<Usage> from_json(std::string_view text, const ReadLimits& limits);
template Result<Thread> from_json(std::string_view text, const ReadLimits& limits);
template Result<Session> from_json(std::string_view text, const ReadLimits& limits);
template Result<StepResult> from_json(std::string_view text, const ReadLimits& limits);
template Result<ChatResult> from_json(std::string_view text, const ReadLimits& limits);
template Result<ModelRef> from_json(std::string_view text, const ReadLimits& limits);
template Result<Error> from_json(std::string_view text, const ReadLimits& limits);

}  // namespace allm
