#include <gmock/gmock.h>

#include "allm/workers.hpp"

#include "tests/lanes/misbehaviour.hpp"

int main(int count, char** arguments) {
  allm::run_as_worker_if_asked(allm::testing::worker_tools());
  testing::InitGoogleMock(&count, arguments);
  return RUN_ALL_TESTS();
}
