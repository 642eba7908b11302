#include "allm/thread.hpp"

#include <latch>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace allm::thread_test {
namespace {

Message numbered(std::size_t i) { return user(std::to_string(i)); }

MessageList list_of(std::size_t count) {
  MessageList list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(numbered(i));
  return list;
}

void expect_numbers(const MessageList& list, std::size_t count) {
  ASSERT_EQ(list.size(), count);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(list[i].text(), std::to_string(i));
}

TEST(MessageListTest, KeepsWhatIsPushedAcrossBlocks) {
  for (const std::size_t count : {0U, 1U, 31U, 32U, 33U, 64U, 65U, 1000U}) expect_numbers(list_of(count), count);
  const MessageList list = list_of(70);
  EXPECT_EQ(list.front().text(), "0");
  EXPECT_EQ(list.back().text(), "69");
  EXPECT_TRUE(MessageList().empty());
}

TEST(MessageListTest, IteratesInOrder) {
  const MessageList list = list_of(100);
  std::size_t i = 0;
  for (const Message& message : list) EXPECT_EQ(message.text(), std::to_string(i++));
  EXPECT_EQ(i, 100U);
  EXPECT_EQ(list.end() - list.begin(), 100);
  EXPECT_EQ(list.begin()[64].text(), "64");
  EXPECT_EQ((list.end() - 1)->text(), "99");
  EXPECT_EQ(std::vector<Message>(list.begin(), list.end()).size(), 100U);
}

TEST(MessageListTest, AppendingToACopyDoesNotShowInTheOther) {
  for (const std::size_t count : {0U, 1U, 5U, 31U, 32U, 63U, 64U, 100U}) {
    const MessageList original = list_of(count);
    MessageList a = original;
    MessageList b = original;
    for (int i = 0; i < 40; ++i) {
      a.push_back(user("a" + std::to_string(i)));
      b.push_back(user("b" + std::to_string(i)));
    }
    expect_numbers(original, count);
    ASSERT_EQ(a.size(), count + 40);
    ASSERT_EQ(b.size(), count + 40);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(a[i].text(), std::to_string(i));
      EXPECT_EQ(b[i].text(), std::to_string(i));
    }
    for (std::size_t i = 0; i < 40; ++i) {
      EXPECT_EQ(a[count + i].text(), "a" + std::to_string(i));
      EXPECT_EQ(b[count + i].text(), "b" + std::to_string(i));
    }
  }
}

TEST(MessageListTest, CopiesAndTheFirstOnesShareMessages) {
  const MessageList list = list_of(100);
  const MessageList copy = list;
  EXPECT_EQ(&copy[0], &list[0]);
  EXPECT_EQ(&copy[99], &list[99]);
  MessageList longer = list;
  longer.push_back(user("x"));
  EXPECT_EQ(&longer[99], &list[99]);  // the first to append goes on in the shared block
  for (const std::size_t count : {1U, 31U, 32U, 33U, 64U, 99U, 100U}) {
    const MessageList first = list.first(count);
    expect_numbers(first, count);
    EXPECT_EQ(&first[count - 1], &list[count - 1]);
  }
  EXPECT_TRUE(list.first(0).empty());
  EXPECT_EQ(list.first(1000).size(), 100U);
}

TEST(MessageListTest, TheFirstOnesCanBeAppendedTo) {
  for (const std::size_t count : {0U, 1U, 31U, 32U, 33U, 63U, 64U, 99U}) {
    const MessageList list = list_of(100);
    MessageList first = list.first(count);
    for (std::size_t i = count; i < 200; ++i) first.push_back(numbered(i));
    expect_numbers(first, 200);
    expect_numbers(list, 100);
  }
}

TEST(MessageListTest, AppendsListsAndItself) {
  MessageList list = list_of(40);
  list.append(list);
  ASSERT_EQ(list.size(), 80U);
  EXPECT_EQ(list[39].text(), "39");
  EXPECT_EQ(list[40].text(), "0");
  EXPECT_EQ(list[79].text(), "39");
  MessageList empty;
  empty.append(list);
  EXPECT_EQ(empty, list);
  empty.append(MessageList());
  EXPECT_EQ(empty, list);
}

TEST(MessageListTest, PushesAMessageOfItsOwn) {
  MessageList list = list_of(31);
  for (int i = 0; i < 40; ++i) list.push_back(list[0]);
  EXPECT_EQ(list.back().text(), "0");
  EXPECT_EQ(list[30].text(), "30");
}

TEST(MessageListTest, EqualityIsByValue) {
  EXPECT_EQ(list_of(100), list_of(100));
  EXPECT_NE(list_of(100), list_of(99));
  EXPECT_NE(list_of(99), list_of(100).first(98));
  MessageList changed = list_of(50).first(49);
  changed.push_back(user("other"));
  EXPECT_NE(changed, list_of(50));
  EXPECT_EQ(list_of(64).first(64), list_of(64));
  EXPECT_EQ(MessageList(), MessageList());
  EXPECT_EQ((MessageList{user("0"), user("1")}), list_of(2));
  EXPECT_EQ(MessageList(std::vector<Message>{user("0")}), list_of(1));
}

TEST(MessageListTest, AMovedFromListIsEmptyAndUsable) {
  MessageList list = list_of(40);
  const MessageList taken = std::move(list);
  expect_numbers(taken, 40);
  EXPECT_TRUE(list.empty());  // NOLINT(bugprone-use-after-move)
  list.push_back(numbered(0));
  expect_numbers(list, 1);
  MessageList target = list_of(3);
  target = std::move(list);
  expect_numbers(target, 1);
  EXPECT_EQ(list.size(), 0U);  // NOLINT(bugprone-use-after-move)
  MessageList& self = target;
  target = std::move(self);
  expect_numbers(target, 1);
}

TEST(MessageListTest, RandomBranchesBehaveLikeVectors) {
  std::mt19937 random(7);
  std::vector<std::pair<MessageList, std::vector<Message>>> branches(1);
  for (int step = 0; step < 4000; ++step) {
    const auto [list, expected] = branches[random() % branches.size()];
    auto next = std::pair(list, expected);
    if (random() % 4 == 0) {
      const std::size_t count = random() % (expected.size() + 1);
      next.first = next.first.first(count);
      next.second.resize(count);
    }
    for (std::size_t i = random() % 20; i > 0; --i) {
      next.first.push_back(numbered(random()));
      next.second.push_back(next.first.back());
    }
    const bool equal = std::equal(next.first.begin(), next.first.end(), next.second.begin(), next.second.end());
    ASSERT_TRUE(equal) << "step " << step;
    if (branches.size() < 50) {
      branches.push_back(std::move(next));
    } else {
      branches[random() % branches.size()] = std::move(next);
    }
  }
  for (const auto& [list, expected] : branches) EXPECT_EQ(list, MessageList(expected));
}

// For the thread sanitizer: copies of one list are appended to, read and dropped at once.
TEST(MessageListTest, CopiesMayBeUsedByDifferentThreads) {
  constexpr std::size_t kThreads = 4;
  for (std::size_t start = 0; start < 70; start += 3) {
    auto original = std::make_unique<MessageList>(list_of(start));
    std::latch ready(kThreads);
    std::vector<MessageList> results(kThreads);
    std::vector<std::thread> threads;
    for (std::size_t id = 0; id < kThreads; ++id) {
      threads.emplace_back([&results, &ready, id, start, list = *original]() mutable {
        ready.arrive_and_wait();
        for (std::size_t i = 0; i < 50; ++i) {
          MessageList branch = list;
          branch.push_back(user("branch"));
          list.push_back(user(std::to_string(id) + ":" + std::to_string(i)));
          if (start > 0) {
            EXPECT_EQ(list[start - 1].text(), std::to_string(start - 1));
          }
        }
        results[id] = std::move(list);
      });
    }
    original.reset();
    for (std::thread& thread : threads) thread.join();
    for (std::size_t id = 0; id < kThreads; ++id) {
      ASSERT_EQ(results[id].size(), start + 50);
      for (std::size_t i = 0; i < 50; ++i) {
        ASSERT_EQ(results[id][start + i].text(), std::to_string(id) + ":" + std::to_string(i));
      }
    }
  }
}

TEST(ThreadTest, IsWrittenInPlaceAndCompared) {
  const Thread thread = {system("be brief"), user("hi")};
  EXPECT_EQ(thread.messages.size(), 2U);
  EXPECT_EQ(thread, (Thread{system("be brief"), user("hi")}));
  EXPECT_NE(thread, Thread());
  EXPECT_EQ(thread.metadata, Json::object());
}

}  // namespace
}  // namespace allm::thread_test
