#include <limits>

#include "data/codec_read.hpp"
#include "data/text_sink.hpp"

namespace allm {

namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
constexpr ReadLimits kNestingOnly = {codec::kMaxNesting, kUnlimited, kUnlimited, kUnlimited};

}  // namespace

template <class T>
Result<T> from_json_value(const Json& value) {
  codec::Reader reader(kNestingOnly);
  return codec::read_whole<T>(reader, codec::ValueNode(value));
}

Result<AnyValue> codec::any_from_json_value(const Json& value) {
  Reader reader(kNestingOnly);
  return read_whole<AnyValue>(reader, ValueNode(value));
}

template Result<Message> from_json_value(const Json& value);
template Result<TextPart> from_json_value(const Json& value);
template Result<ImagePart> from_json_value(const Json& value);
template Result<Image> from_json_value(const Json& value);
template Result<FilePart> from_json_value(const Json& value);
template Result<File> from_json_value(const Json& value);
template Result<AudioPart> from_json_value(const Json& value);
template Result<Audio> from_json_value(const Json& value);
template Result<ToolCall> from_json_value(const Json& value);
template Result<PendingToolCall> from_json_value(const Json& value);
template Result<Tool> from_json_value(const Json& value);
template Result<Request> from_json_value(const Json& value);
template Result<Response> from_json_value(const Json& value);
template Result<Usage> from_json_value(const Json& value);
template Result<Thread> from_json_value(const Json& value);
template Result<Session> from_json_value(const Json& value);
template Result<StepResult> from_json_value(const Json& value);
template Result<ChatResult> from_json_value(const Json& value);
template Result<ModelRef> from_json_value(const Json& value);
template Result<Error> from_json_value(const Json& value);

}  // namespace allm
