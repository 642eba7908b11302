// The demo model: a few rules instead of a model, for programs and tests that need neither a key nor a network.
//
//   auto engine = allm::engine_for("demo", {.tools = {weather}});
//   auto result = allm::chat(*engine, {allm::user("What is the weather in Oslo and in Rome?")});
//
// It looks for words of the tools' names and descriptions in the last message, takes arguments from the message by the
// tools' schemas, calls several tools at once, asks for an argument that is missing, and answers from the results. It
// understands nothing, and says so. The same conversation always gets the same answer. docs/demo.md has the rules.
#pragma once

#include <chrono>
#include <memory>

#include "allm/adapter.hpp"

namespace allm {

struct DemoOptions {
  // The time between two words of an answer, so that people see the answer stream. Default: none, because tests and
  // programs should not wait.
  std::chrono::milliseconds word_delay{0};
};

// The adapter; its provider is "demo". It needs no key, and calls cost nothing. Safe to call from any thread. Calls
// never fail.
std::shared_ptr<Adapter> demo(DemoOptions options = {});

}  // namespace allm
