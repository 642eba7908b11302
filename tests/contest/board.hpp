// Memory that the two processes of a contest share with the test: a file that all of them map.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace allm::contest {

inline constexpr int kMaxRounds = 20'000;

enum class Answer : std::uint8_t {
  none,
  won,       // the run was made
  conflict,  // the answer came too late
  leased,    // somebody else was answering; only without an epoch
  wrong,     // anything else
};

struct Board {
  std::atomic<int> arrived;  // processes that have reached a round, over all rounds
  std::atomic<bool> given_up;
  std::array<std::array<std::atomic<Answer>, 2>, kMaxRounds> answers;
};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<Answer>::is_always_lock_free);

class SharedBoard {
 public:
  explicit SharedBoard(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, sizeof(Board)) != 0) throw std::runtime_error("cannot make " + path);
    void* const memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (memory == MAP_FAILED) throw std::runtime_error("cannot map " + path);
    board_ = static_cast<Board*>(memory);
  }
  ~SharedBoard() { ::munmap(board_, sizeof(Board)); }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;

  Board& operator*() const { return *board_; }
  Board* operator->() const { return board_; }

 private:
  Board* board_ = nullptr;  // zeros at first
};

// The answers of a round.
enum class Kind : std::uint8_t { reply, reply_without_epoch, submit, approve };
inline Kind kind_of(int round) { return static_cast<Kind>(round % 4); }
inline std::string session_of(int round) { return "s" + std::to_string(round); }
inline std::string effects_of(const std::string& board) { return board + ".effects"; }

}  // namespace allm::contest
