// The conformance suite of session stores: checks that a store of your own keeps the promises of allm/store.hpp and
// allm/work_queue.hpp. Independent of any test framework; uses only the virtual functions.
//
//   const auto report = allm::check_store([] { return MyStore::open("test-database"); });
//   if (!report.passed()) std::cerr << report.summary();
//
// docs/conformance.md explains every check. A program that calls check_store links allm::stores and allm::testing.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "allm/conformance.hpp"
#include "allm/work_queue.hpp"

namespace allm {

// Opens the same database each time. Two stores that it returns stand for two processes; a store in memory returns the
// same object again.
using StoreFactory = std::function<Result<std::shared_ptr<Store>>()>;

struct StoreConformanceOptions {
  // How long a lease lasts in the checks that wait until it expires.
  std::chrono::milliseconds short_lease = std::chrono::milliseconds(60);
  // How long the suite waits for an event that must happen. Generous, because the machine may be busy.
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  // How many threads, each with a store of its own, use the database at once.
  std::size_t threads = 4;
  // How many times threads compete for one version, and how many jobs they compete for.
  std::size_t rounds = 25;
  // How many messages the large session has.
  std::size_t large_messages = 500;
  // The names of the checks to run. Empty: all of them.
  std::vector<std::string> only = {};
};

// Checks a store. Its queue must be empty, and no other program may use the database meanwhile. Each check removes the
// sessions that it has made. Blocks until all checks are done; `factory` is called on this thread.
ConformanceReport check_store(const StoreFactory& factory, const StoreConformanceOptions& options = {});

}  // namespace allm
