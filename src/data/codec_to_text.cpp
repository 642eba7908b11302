#include "data/codec_write.hpp"
#include "data/text_sink.hpp"

namespace allm {

namespace {

template <class T>
Result<std::string> to_text(const T& value, std::size_t expected_bytes = 512) {
  codec::Failure failure;
  codec::TextSink sink(failure, expected_bytes);
  if (!codec::write(sink, value)) return std::unexpected(failure.error());
  sink.finish();
  return sink.take();
}

// A short message in its tagged form; conversations are made of these.
constexpr std::size_t kMessageBytes = 256;

}  // namespace

Result<std::string> to_json(const Message& value) { return to_text(value); }
Result<std::string> to_json(const TextPart& value) { return to_text(value); }
Result<std::string> to_json(const ImagePart& value) { return to_text(value); }
Result<std::string> to_json(const Image& value) { return to_text(value); }
Result<std::string> to_json(const FilePart& value) { return to_text(value); }
Result<std::string> to_json(const File& value) { return to_text(value); }
Result<std::string> to_json(const AudioPart& value) { return to_text(value); }
Result<std::string> to_json(const Audio& value) { return to_text(value); }
Result<std::string> to_json(const ToolCall& value) { return to_text(value); }
Result<std::string> to_json(const Tool& value) { return to_text(value); }
Result<std::string> to_json(const Request& value) {
  return to_text(value, 1024 + value.messages.size() * kMessageBytes);
}
Result<std::string> to_json(const Response& value) { return to_text(value); }
Result<std::string> to_json(const Usage& value) { return to_text(value); }
Result<std::string> to_json(const Thread& value) { return to_text(value, 512 + value.messages.size() * kMessageBytes); }
Result<std::string> to_json(const Session& value) {
  return to_text(value, 1024 + value.thread.messages.size() * kMessageBytes);
}
Result<std::string> to_json(const StepResult& value) {
  return to_text(value, 1024 + value.thread.messages.size() * kMessageBytes);
}
Result<std::string> to_json(const ChatResult& value) { return to_text(value, 4096); }
Result<std::string> to_json(const ModelRef& value) { return to_text(value); }
Result<std::string> to_json(const Error& value) { return to_text(value); }

}  // namespace allm
