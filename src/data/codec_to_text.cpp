#include "data/codec_write.hpp"
#include "data/json_text.hpp"
#include "data/text_sink.hpp"

namespace allm {

namespace {

template <class T>
Result<std::string> to_text(const T& value, const ReadLimits& limits, std::size_t expected_bytes = 512) {
  codec::Failure failure;
  codec::TextSink sink(failure, expected_bytes, codec::effective(limits));
  if (!codec::write(sink, value)) return std::unexpected(failure.error());
  sink.finish();
  if (!sink.check_limits()) return std::unexpected(failure.error());
  return sink.take();
}

// A short message in its tagged form; conversations are made of these.
constexpr std::size_t kMessageBytes = 256;

}  // namespace

Result<std::string> to_json(const Message& value, const ReadLimits& limits) { return to_text(value, limits); }
Result<std::string> to_json(const TextPart& value, const ReadLimits& limits) { return to_text(value, limits); }
Result<std::string> to_json(const ImagePart& value, const ReadLimits& limits) { return to_text(value, limits); }
Result<std::string> to_json(const Image& value, const ReadLimits& limits) { return to_text(value, limits); }
Result<std::string> to_json(const FilePart& value, const ReadLimits& limits) { return to_text(value, limits); }
Result<std::string> to_json(const File& value, const ReadLimits& limits) { return to_text(value, limits); }
Result<std::string> to_json(const AudioPart& value, const ReadLimits& limits) { return to_text(value, limits); }
Result<std::string> to_json(const Audio& value, const ReadLimits& limits) { return to_text(value, limits); }
Result<std::string> to_json(const ToolCall& value, const ReadLimits& limits) { return to_text(value, limits); }
Result<std::string> to_json(const Tool& value, const ReadLimits& limits) { return to_text(value, limits); }
Result<std::string> to_json(const Request& value, const ReadLimits& limits) {
  return to_text(value, limits, 1024 + value.messages.size() * kMessageBytes);
}
Result<std::string> to_json(const Response& value, const ReadLimits& limits) { return to_text(value, limits); }
Result<std::string> to_json(const Usage& value, const ReadLimits& limits) { return to_text(value, limits); }
Result<std::string> to_json(const Thread& value, const ReadLimits& limits) {
  return to_text(value, limits, 512 + value.messages.size() * kMessageBytes);
}
Result<std::string> to_json(const Session& value, const ReadLimits& limits) {
  return to_text(value, limits, 1024 + value.thread.messages.size() * kMessageBytes);
}
Result<std::string> to_json(const StepResult& value, const ReadLimits& limits) {
  return to_text(value, limits, 1024 + value.thread.messages.size() * kMessageBytes);
}
Result<std::string> to_json(const ChatResult& value, const ReadLimits& limits) { return to_text(value, limits, 4096); }
Result<std::string> to_json(const ModelRef& value, const ReadLimits& limits) { return to_text(value, limits); }
Result<std::string> to_json(const Error& value, const ReadLimits& limits) { return to_text(value, limits); }

}  // namespace allm
