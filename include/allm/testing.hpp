// All of allm::testing, the library for tests of programs that use allm: a scripted model, recordings of real ones,
// scenarios, and checks for adapters, executors and encoders of your own. Production programs need neither this header
// nor the library.
#pragma once

#include "allm/conformance.hpp"
#include "allm/fake.hpp"
#include "allm/recording.hpp"
#include "allm/scenario.hpp"
