#include "process/frames.hpp"

#include <array>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/cases.hpp"

namespace allm::frames_test {
namespace {

const int kCasesSet = testing::set_property_cases(100);

RC_GTEST_PROP(Frames, AnySplitGivesTheSameFrames, (const std::vector<std::string>& texts)) {
  std::string wire;
  for (const std::string& text : texts) wire += make_frame(text);
  FrameReader reader;
  std::vector<std::string> read;
  while (!wire.empty()) {
    const auto size = *rc::gen::inRange<std::size_t>(1, wire.size() + 1);
    reader.feed(wire.substr(0, size));
    wire.erase(0, size);
    while (auto frame = reader.next(1000)) read.push_back(*std::move(frame));
  }
  RC_ASSERT(read == texts);
}

TEST(Frames, AFrameBeyondTheLimitIsNotReturned) {
  FrameReader reader;
  reader.feed(make_frame("12345"));
  EXPECT_TRUE(reader.exceeds(4));
  EXPECT_FALSE(reader.next(4).has_value());
  EXPECT_FALSE(reader.exceeds(5));
  EXPECT_EQ(reader.next(5), "12345");
}

TEST(Frames, DescriptorsAreSentWithAFrame) {
  std::array<int, 2> line{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, line.data()), 0);
  const Fd ours(line[0]);
  const Fd theirs(line[1]);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const Fd reads(ends[0]);
  Fd writes(ends[1]);
  ASSERT_TRUE(send_all(ours.get(), make_frame("here"), {writes.get()}));
  writes.reset();
  std::array<char, 64> buffer{};
  std::vector<Fd> fds;
  EXPECT_EQ(receive_some(theirs.get(), buffer.data(), buffer.size(), fds), 8);
  ASSERT_EQ(fds.size(), 1U);
  EXPECT_EQ(write(fds[0].get(), "x", 1), 1);
  EXPECT_EQ(read(reads.get(), buffer.data(), 1), 1);
}

TEST(Frames, SendingToAClosedEndRaisesNoSignal) {
  std::array<int, 2> line{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, line.data()), 0);
  const Fd ours(line[0]);
  close(line[1]);
  EXPECT_FALSE(send_all(ours.get(), make_frame("nobody")));
}

}  // namespace
}  // namespace allm::frames_test
