// Collects everything that a test program produces (errors, results, telemetry, sessions, recordings), and searches it
// for keys at the end. Safe to call from any thread.
#pragma once

#include <memory>
#include <string>

#include "allm/error.hpp"
#include "allm/telemetry.hpp"

namespace allm::testing {

// Declares a key that this program uses: no part of it with five or more characters may appear in the output. The
// prefix ("sk-…-", up to the last dash) is not secret.
void expect_secret(const std::string& key);
void note_produced(std::string text);
void note_produced(const Error& error);
// A telemetry sink that collects all events.
std::shared_ptr<Telemetry> noting_telemetry();

}  // namespace allm::testing
