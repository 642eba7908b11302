// An exchange of a recording: the request of one model call and the events of the answer. It is one line of the file.
// Pure functions; safe to call from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allm/adapter.hpp"
#include "allm/event.hpp"

namespace allm {

inline constexpr int kRecordingVersion = 1;
// The longest line in bytes, without its line break.
inline constexpr std::size_t kMaxRecordingLine = 256U << 20U;

struct Exchange {
  enum class End : std::uint8_t { completed, failed, dropped };

  std::string provider = {};
  Json request = null_json();  // as request_form returns it
  std::vector<Event> events = {};
  End end = End::completed;
};

// The part of a call that is recorded, and compared in a replay: everything that influences the answer, redacted. It
// has no key and no ids of runs and sessions.
Json request_form(const AdapterCall& call);

// The redacted line of an exchange. Fails with ValidationError for values that JSON cannot carry, with ValidationError
// `too_large`, and with AdapterError `malformed_response` for events that a model must not produce.
Result<std::string> write_exchange(std::string_view provider, const AdapterCall& call, const std::vector<Event>& events,
                                   Exchange::End end);

// Fails with ValidationError `invalid_request` and the path within the line.
Result<Exchange> read_exchange(std::string_view line);

// The first line of a recording, without its line break; and the check of such a line.
std::string recording_header();
Status check_header(std::string_view line);

}  // namespace allm
