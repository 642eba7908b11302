// Reads one model call of an adapter to its end, or as far as it should be read, and notes how the source behaves.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allm/adapter.hpp"

#include "testing/conformance/probe.hpp"

namespace allm::conformance {

struct Reading {
  std::optional<Error> open_error = std::nullopt;
  bool no_source = false;  // open() returned a null pointer
  std::vector<Event> events = {};
  bool ended = false;
  bool event_after_end = false;
  bool never_woken = false;                          // pending, and no waker was called
  bool stale_waker = false;                          // an earlier poll's waker was called instead of the latest
  std::optional<std::string> thrown = std::nullopt;  // what open(), poll() or a destructor threw
};

struct ReadLimits {
  std::chrono::milliseconds timeout;
  // The source is dropped after so many events.
  std::size_t events = std::numeric_limits<std::size_t>::max();
  // Drop it when it is pending for the first time.
  bool drop_pending = false;
};

Reading read_call(Probe& probe, Adapter& adapter, const AdapterCall& call, const ReadLimits& limits);

}  // namespace allm::conformance
