// Reads arbitrary bytes as frames, in pieces, and the frames as messages of a worker and of the program.
#include "process/frames.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/json.hpp"

#include "lanes/outcome_json.hpp"
#include "lanes/worker_wire.hpp"

namespace {

constexpr std::size_t kLimit = std::size_t{1} << 16U;

std::vector<std::string> frames_of(std::string_view bytes, std::size_t piece, bool& exceeds) {
  allm::FrameReader reader;
  std::vector<std::string> frames;
  while (!bytes.empty()) {
    const std::size_t size = std::min(piece, bytes.size());
    reader.feed(bytes.substr(0, size));
    bytes.remove_prefix(size);
    while (auto frame = reader.next(kLimit)) frames.push_back(*std::move(frame));
    // A reader closes the line here.
    exceeds = reader.exceeds(kLimit);
    if (exceeds) break;
  }
  return frames;
}

// What a worker does with a message of the program.
void read_call(const allm::WorkerMessage& message) {
  if (message.kind == allm::WorkerMessageKind::call) (void)allm::read_worker_request(message.text);
}

// What the program does with a message of a worker.
void read_answer(const allm::WorkerMessage& message) {
  const allm::Result<allm::Json> json = allm::parse_json(message.text);
  if (json && message.kind != allm::WorkerMessageKind::progress) (void)allm::read_outcome(*json, true);
}

void read_message(const std::string& frame) {
  const std::optional<allm::WorkerMessage> message = allm::read_worker_message(frame);
  if (!message) return;
  read_call(*message);
  read_answer(*message);
  if (allm::make_worker_frame(message->kind, message->call, message->text) != allm::make_frame(frame)) {
    __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  bool exceeds = false;
  bool exceeds_in_pieces = false;
  const std::vector<std::string> frames = frames_of(bytes, size, exceeds);
  if (frames_of(bytes, 1 + data[0] % 64U, exceeds_in_pieces) != frames || exceeds != exceeds_in_pieces) {
    __builtin_trap();
  }
  for (const std::string& frame : frames) read_message(frame);
  return 0;
}
