// All of allm::testing, the library for tests of programs that use allm: a scripted model, recordings of real ones, and
// scenarios. Production programs need neither this header nor the library.
#pragma once

#include "allm/fake.hpp"
#include "allm/recording.hpp"
#include "allm/scenario.hpp"
