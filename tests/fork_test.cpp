// fork() in the program: a child that uses its parent's runtime gets an error and does not hang.
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace allm::fork_test {
namespace {

using namespace std::chrono_literals;

// The thread sanitizer does not support new threads in the child of a process with threads.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ALLM_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_THREAD__)
#define ALLM_THREAD_SANITIZER
#endif
#ifdef ALLM_THREAD_SANITIZER
constexpr bool kCanStartThreadsAfterFork = false;
#else
constexpr bool kCanStartThreadsAfterFork = true;
#endif

// The exit status of a child that runs `body`; a child that hangs is killed by its alarm.
int status_in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(30);
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "the child was killed by signal " << WTERMSIG(status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Engine slow_engine(std::shared_ptr<Runtime> runtime) {
  const FakeCallScript call = {fake_delay(1ms), fake_text("hi"), fake_finish(FinishReason::stop)};
  return Engine({.adapter = fake(FakeScript(8, call)), .runtime = std::move(runtime)});
}

bool is_fork_error(const Error& error) {
  return error.is<EngineError>(EngineError::Reason::invalid_engine) &&
         error.message().find("forked") != std::string::npos;
}

TEST(Fork, AChildThatUsesItsParentsRuntimeGetsAnError) {
  const Engine engine = slow_engine(Runtime::create());
  ASSERT_TRUE(chat(engine, {user("hi")}).has_value());
  EXPECT_EQ(status_in_child([&] {
              const auto result = chat(engine, {user("hi")});
              return !result && is_fork_error(result.error()) ? 0 : 1;
            }),
            0);
  EXPECT_TRUE(chat(engine, {user("hi")}).has_value()) << "the parent goes on";
}

TEST(Fork, AStreamThatTheParentOpenedFailsInTheChild) {
  const FakeCallScript never = {fake_delay(1h), fake_finish(FinishReason::stop)};
  const Engine engine({.adapter = fake(FakeScript{never}), .runtime = Runtime::create()});
  ChatStream events = stream(engine, {user("hi")});
  while (events.try_next()) {
  }
  EXPECT_EQ(status_in_child([&] {
              const Poll event = events.next();
              const auto* failed = event ? event->get_if<ErrorEvent>() : nullptr;
              return failed != nullptr && is_fork_error(failed->error) ? 0 : 1;
            }),
            0);
}

TEST(Fork, AChildCanDestroyItsParentsRuntimeAndMakeItsOwn) {
  if (!kCanStartThreadsAfterFork) GTEST_SKIP() << "the thread sanitizer ends such a child";
  auto runtime = Runtime::create();
  ASSERT_TRUE(chat(slow_engine(runtime), {user("hi")}).has_value());
  EXPECT_EQ(status_in_child([&] {
              [[maybe_unused]] const Timer timer = runtime->after(1ms, [] {});
              runtime.reset();
              return chat(slow_engine(Runtime::create()), {user("hi")}).has_value() ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace allm::fork_test
