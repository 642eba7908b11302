#include "data/codec_write.hpp"
#include "data/value_sink.hpp"

namespace allm {

template <class T>
Json to_json_value(const T& value) {
  codec::ValueSink sink;
  codec::write(sink, value);
  return sink.take();
}

template Json to_json_value(const Message& value);
template Json to_json_value(const TextPart& value);
template Json to_json_value(const ImagePart& value);
template Json to_json_value(const Image& value);
template Json to_json_value(const FilePart& value);
template Json to_json_value(const File& value);
template Json to_json_value(const AudioPart& value);
template Json to_json_value(const Audio& value);
template Json to_json_value(const ToolCall& value);
template Json to_json_value(const PendingToolCall& value);
template Json to_json_value(const Tool& value);
template Json to_json_value(const Request& value);
template Json to_json_value(const Response& value);
template Json to_json_value(const Usage& value);
template Json to_json_value(const Thread& value);
template Json to_json_value(const Session& value);
template Json to_json_value(const StepResult& value);
template Json to_json_value(const ChatResult& value);
template Json to_json_value(const ModelRef& value);
template Json to_json_value(const Error& value);

}  // namespace allm
