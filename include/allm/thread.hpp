// Thread: the messages of a conversation. (A thread of execution is called "a thread of the program" here.) Copies of a
// thread share their messages.
//
// Every step of a run returns the thread as it is after the step. Copying the messages costs two reference counts,
// however many there are, and appending to one copy does not change another. So a run of a thousand steps keeps one
// history, not a thousand.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <vector>

#include "allm/message.hpp"

namespace allm {

// An append-only list of messages that is cheap to copy. Messages in a list are never modified. One thread of the
// program at a time may append to a list. Several threads of the program may each read and append to a copy of their
// own at the same time. An index must be less than size(). Iterators refer to the list and are valid as long as it
// exists.
class MessageList {
 public:
  class Iterator;
  using value_type = Message;
  using const_iterator = Iterator;
  using iterator = Iterator;

  MessageList() = default;
  MessageList(std::initializer_list<Message> messages);
  MessageList(std::vector<Message> messages);
  MessageList(const MessageList&) = default;
  MessageList& operator=(const MessageList&) = default;
  MessageList(MessageList&& other) noexcept;  // leaves `other` empty
  MessageList& operator=(MessageList&& other) noexcept;
  ~MessageList() = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Message& operator[](std::size_t index) const;
  const Message& front() const { return (*this)[0]; }
  const Message& back() const { return (*this)[size_ - 1]; }
  Iterator begin() const;
  Iterator end() const;

  void push_back(Message message);
  void append(const MessageList& messages);
  // The first `count` messages (all of them if there are fewer), without copying them.
  MessageList first(std::size_t count) const;

  friend bool operator==(const MessageList& a, const MessageList& b);

 private:
  struct Block;
  struct Spine;
  static constexpr std::size_t kBlockSize = 32;

  // The index-th block: one of `full_`, else `tail_`.
  const std::shared_ptr<Block>& block(std::size_t index) const;
  // A block with copies of the tail's first `slot` messages and the next slot claimed.
  std::shared_ptr<Block> start_block(std::size_t slot) const;
  void add_full(std::shared_ptr<Block> block);

  std::shared_ptr<Spine> full_;  // blocks that are full; null if no block is full
  std::shared_ptr<Block> tail_;  // the block being filled; null when there is none
  std::size_t size_ = 0;
};

class MessageList::Iterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = Message;
  using difference_type = std::ptrdiff_t;
  using pointer = const Message*;
  using reference = const Message&;

  Iterator() = default;
  Iterator(const MessageList* list, std::size_t index) : list_(list), index_(index) {}
  reference operator*() const { return (*list_)[index_]; }
  pointer operator->() const { return &(*list_)[index_]; }
  reference operator[](difference_type n) const { return *(*this + n); }
  Iterator& operator++() {
    ++index_;
    return *this;
  }
  Iterator operator++(int) {
    Iterator old = *this;
    ++index_;
    return old;
  }
  Iterator& operator--() {
    --index_;
    return *this;
  }
  Iterator operator--(int) {
    Iterator old = *this;
    --index_;
    return old;
  }
  Iterator& operator+=(difference_type n) {
    index_ = static_cast<std::size_t>(static_cast<difference_type>(index_) + n);
    return *this;
  }
  Iterator& operator-=(difference_type n) { return *this += -n; }
  friend Iterator operator+(Iterator it, difference_type n) { return it += n; }
  friend Iterator operator+(difference_type n, Iterator it) { return it += n; }
  friend Iterator operator-(Iterator it, difference_type n) { return it -= n; }
  friend difference_type operator-(const Iterator& a, const Iterator& b) {
    return static_cast<difference_type>(a.index_) - static_cast<difference_type>(b.index_);
  }
  friend bool operator==(const Iterator& a, const Iterator& b) { return a.index_ == b.index_; }
  friend auto operator<=>(const Iterator& a, const Iterator& b) { return a.index_ <=> b.index_; }

 private:
  const MessageList* list_ = nullptr;
  std::size_t index_ = 0;
};

inline MessageList::Iterator MessageList::begin() const { return {this, 0}; }
inline MessageList::Iterator MessageList::end() const { return {this, size_}; }

struct Thread {
  Thread();
  // Allows `chat(engine, {user("hi")})`.
  Thread(std::initializer_list<Message> list);
  Thread(std::vector<Message> list);
  explicit Thread(MessageList list);

  MessageList messages;
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const Thread&) const;
};

}  // namespace allm
