// Everything that a test program's calls gave out, to be searched for keys at its end: errors, results, telemetry,
// sessions, recordings.
#pragma once

#include <memory>
#include <string>

#include "allm/error.hpp"
#include "allm/telemetry.hpp"

namespace allm::testing {

// A key that is used in this program: no part of it longer than its last four characters may come out. What makes it
// recognisable ("sk-…-") is not secret and ends with its last dash. Any thread.
void expect_secret(const std::string& key);
void note_produced(std::string text);
void note_produced(const Error& error);
// Notes all that it is told.
std::shared_ptr<Telemetry> noting_telemetry();

}  // namespace allm::testing
