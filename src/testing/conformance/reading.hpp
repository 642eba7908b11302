// Reads one model call of an adapter, to its end or to the given limits, and records how the source behaves.
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
  bool never_woken = false;                          // the source was pending and called no waker
  bool stale_waker = false;                          // the source called the waker of an earlier poll
  std::optional<std::string> thrown = std::nullopt;  // what open(), poll() or a destructor threw
};

struct ReadLimits {
  std::chrono::milliseconds timeout;
  // The source is destroyed after this number of events.
  std::size_t events = std::numeric_limits<std::size_t>::max();
  // The source is destroyed when it is pending for the first time.
  bool drop_pending = false;
};

Reading read_call(Probe& probe, Adapter& adapter, const AdapterCall& call, const ReadLimits& limits);

}  // namespace allm::conformance
