#include "process/send_queue.hpp"

#include <array>
#include <cerrno>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "process/frames.hpp"

namespace allm::send_queue_test {
namespace {

class SendQueueTest : public ::testing::Test {
 protected:
  SendQueueTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours_ = Fd(ends[0]);
    theirs_ = Fd(ends[1]);
  }
  Fd ours_;
  Fd theirs_;
};

TEST_F(SendQueueTest, NothingBlocksAndDescriptorsArriveWithTheirBytes) {
  SendQueue queue;
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const Fd read_end(pipe_ends[0]);
  Fd write_end(pipe_ends[1]);
  const std::string large(std::size_t{16} << 20U, 'x');
  ASSERT_TRUE(queue.send(ours_.get(), large));
  EXPECT_FALSE(queue.empty());
  ASSERT_TRUE(queue.send(ours_.get(), "with", {write_end.get()}));
  write_end.reset();  // the queue has a copy
  EXPECT_GT(queue.size(), large.size() / 2);

  std::string received;
  std::vector<Fd> fds;
  std::array<char, 65536> buffer{};
  while (received.size() < large.size() + 4) {
    ASSERT_TRUE(queue.flush(ours_.get()));
    const ssize_t got = receive_some(theirs_.get(), buffer.data(), buffer.size(), fds);
    ASSERT_GT(got, 0);
    received.append(buffer.data(), static_cast<std::size_t>(got));
    EXPECT_EQ(fds.empty(), received.size() <= large.size());
  }
  EXPECT_TRUE(received == large + "with");
  EXPECT_TRUE(queue.empty());
  ASSERT_EQ(fds.size(), 1U);
  EXPECT_EQ(write(fds[0].get(), "!", 1), 1);
  fds.clear();
  EXPECT_EQ(read(read_end.get(), buffer.data(), 2), 1);
  EXPECT_EQ(read(read_end.get(), buffer.data(), 2), 0) << "no copy is left";
}

TEST_F(SendQueueTest, AClosedSocketIsAnError) {
  SendQueue queue;
  ASSERT_TRUE(queue.send(ours_.get(), std::string(std::size_t{4} << 20U, 'x')));
  theirs_.reset();
  EXPECT_FALSE(queue.flush(ours_.get()));
  EXPECT_EQ(errno, EPIPE);
  SendQueue other;
  EXPECT_FALSE(other.send(ours_.get(), "x"));
}

}  // namespace
}  // namespace allm::send_queue_test
