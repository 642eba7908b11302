// Results and sessions that version 0.1 wrote, one of each way in which a run can end: they are read and written again
// byte for byte.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "allm/serialize.hpp"

namespace allm::written_by_0_1_test {
namespace {

template <class T>
void expect_same(const std::string& text) {
  const Result<T> value = from_json<T>(text);
  ASSERT_TRUE(value.has_value()) << value.error().message() << "\n" << text;
  EXPECT_EQ(to_json(*value).value_or("not writable"), text);
}

TEST(WrittenBy01, ResultsAndSessionsAreReadAndWrittenAgainByteForByte) {
  std::ifstream file(ALLM_SOURCE_DIR "/tests/data/written_by_0_1.txt");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const std::size_t space = line.find(' ');
    const std::string type = line.substr(0, space);
    const std::string text = line.substr(space + 1);
    if (type == "chat") {
      expect_same<ChatResult>(text);
    } else if (type == "step") {
      expect_same<StepResult>(text);
    } else {
      expect_same<Session>(text);
    }
  }
  EXPECT_EQ(count, 53U);
}

}  // namespace
}  // namespace allm::written_by_0_1_test
