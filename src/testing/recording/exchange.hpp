// An exchange: what a model was asked and what it answered, as a line of a recording. Pure functions; any thread.
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
// Of a line, the line break not counted.
inline constexpr std::size_t kMaxRecordingLine = 256U << 20U;

struct Exchange {
  enum class End : std::uint8_t { completed, failed, dropped };

  std::string provider = {};
  Json request = null_json();  // as request_form gives it
  std::vector<Event> events = {};
  End end = End::completed;
};

// What is recorded of a call and compared with calls: everything that decides the answer, redacted. No ids of runs and
// sessions, and no key.
Json request_form(const AdapterCall& call);

// The line of an exchange, redacted. Fails with ValidationError for what JSON cannot carry, with AdapterError
// `malformed_response` for events that are none of a model's, and with ValidationError `too_large`.
Result<std::string> write_exchange(std::string_view provider, const AdapterCall& call, const std::vector<Event>& events,
                                   Exchange::End end);

// Fails with ValidationError `invalid_request` and the path within the line.
Result<Exchange> read_exchange(std::string_view line);

// The first line of a recording, without its line break.
std::string recording_header();
Status check_header(std::string_view line);

}  // namespace allm
