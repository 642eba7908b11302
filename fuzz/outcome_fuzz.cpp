// Reads arbitrary bytes as the outcome that a command wrote, and as frames of a worker.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "allm/json.hpp"

#include "lanes/outcome_json.hpp"
#include "process/frames.hpp"

namespace {

void read_one(std::string_view text) {
  const allm::Result<allm::Json> json = allm::parse_json(text);
  if (!json) return;
  for (const bool trusted : {false, true}) {
    const allm::Result<allm::ToolOutcome> outcome = allm::read_outcome(*json, trusted);
    if (!outcome) continue;
    const allm::Result<std::string> written = allm::write_outcome(*outcome);
    if (!written) __builtin_trap();
    const allm::Result<allm::ToolOutcome> again = allm::read_outcome(allm::parse_json(*written).value(), true);
    if (!again || *again != *outcome) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_one(text);
  allm::FrameReader frames;
  frames.feed(text);
  while (const auto frame = frames.next(1 << 16)) read_one(*frame);
  return 0;
}
