#include "allm/thread.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <type_traits>
#include <utility>

namespace allm {

// After a slot is claimed, nothing may fail before it is filled.
static_assert(std::is_nothrow_move_constructible_v<Message>);

// Room for kBlockSize messages. Lists that share a block read only the slots below their own size,
// and a slot is claimed by one list and written once, before that list's size covers it: so no
// slot is read by one thread while another writes it.
struct MessageList::Block {
  Block() {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { std::destroy_n(&at(0), used.load(std::memory_order_relaxed)); }

  Message& at(std::size_t slot) { return messages[slot]; }
  bool claim(std::size_t slot) { return used.compare_exchange_strong(slot, slot + 1, std::memory_order_relaxed); }

  std::atomic<std::size_t> used = 0;
  union {
    Message messages[kBlockSize];
  };
};

// Full blocks, shared and claimed in the same way; its room doubles when it runs out.
struct MessageList::Spine {
  explicit Spine(std::size_t capacity) : blocks(capacity) {}

  bool claim(std::size_t slot) {
    return slot < blocks.size() && used.compare_exchange_strong(slot, slot + 1, std::memory_order_relaxed);
  }

  std::atomic<std::size_t> used = 0;
  std::vector<std::shared_ptr<Block>> blocks;
};

MessageList::MessageList(std::initializer_list<Message> messages) {
  for (const Message& message : messages) push_back(message);
}

MessageList::MessageList(std::vector<Message> messages) {
  for (Message& message : messages) push_back(std::move(message));
}

MessageList::MessageList(MessageList&& other) noexcept
    : full_(std::move(other.full_)), tail_(std::move(other.tail_)), size_(std::exchange(other.size_, 0)) {}

MessageList& MessageList::operator=(MessageList&& other) noexcept {
  MessageList taken(std::move(other));
  std::swap(full_, taken.full_);
  std::swap(tail_, taken.tail_);
  std::swap(size_, taken.size_);
  return *this;
}

const std::shared_ptr<MessageList::Block>& MessageList::block(std::size_t index) const {
  return index < size_ / kBlockSize ? full_->blocks[index] : tail_;
}

const Message& MessageList::operator[](std::size_t index) const {
  return block(index / kBlockSize)->at(index % kBlockSize);
}

void MessageList::push_back(Message message) {
  const std::size_t slot = size_ % kBlockSize;
  if (tail_ == nullptr || !tail_->claim(slot)) tail_ = start_block(slot);
  std::construct_at(&tail_->at(slot), std::move(message));
  if (slot + 1 == kBlockSize) {
    add_full(tail_);
    tail_ = nullptr;
  }
  ++size_;
}

std::shared_ptr<MessageList::Block> MessageList::start_block(std::size_t slot) const {
  auto block = std::make_shared<Block>();
  for (std::size_t i = 0; i < slot; ++i) {
    std::construct_at(&block->at(i), tail_->at(i));
    block->used.store(i + 1, std::memory_order_relaxed);
  }
  block->used.store(slot + 1, std::memory_order_relaxed);
  return block;
}

void MessageList::add_full(std::shared_ptr<Block> block) {
  const std::size_t slot = size_ / kBlockSize;
  if (full_ == nullptr || !full_->claim(slot)) {
    auto spine = std::make_shared<Spine>(std::max<std::size_t>(4, 2 * slot));
    if (slot > 0) std::copy_n(full_->blocks.begin(), slot, spine->blocks.begin());
    spine->used.store(slot + 1, std::memory_order_relaxed);
    full_ = std::move(spine);
  }
  full_->blocks[slot] = std::move(block);
}

void MessageList::append(const MessageList& messages) {
  MessageList result = *this;
  if (result.empty()) {
    result = messages;
  } else {
    // By index and up to the size at the start: `messages` may be this list.
    for (std::size_t i = 0, count = messages.size(); i < count; ++i) result.push_back(messages[i]);
  }
  *this = std::move(result);
}

MessageList MessageList::first(std::size_t count) const {
  if (count >= size_) return *this;
  MessageList result;
  result.size_ = count;
  if (count >= kBlockSize) result.full_ = full_;
  if (count % kBlockSize != 0) result.tail_ = block(count / kBlockSize);
  return result;
}

bool operator==(const MessageList& a, const MessageList& b) {
  if (a.size_ != b.size_) return false;
  constexpr std::size_t kBlock = MessageList::kBlockSize;
  for (std::size_t start = 0; start < a.size_; start += kBlock) {
    const auto& left = a.block(start / kBlock);
    const auto& right = b.block(start / kBlock);
    if (left == right) continue;
    const std::size_t count = std::min(kBlock, a.size_ - start);
    if (!std::equal(&left->at(0), &left->at(0) + count, &right->at(0))) return false;
  }
  return true;
}

Thread::Thread() = default;
Thread::Thread(std::initializer_list<Message> list) : messages(list) {}
Thread::Thread(std::vector<Message> list) : messages(std::move(list)) {}
Thread::Thread(MessageList list) : messages(std::move(list)) {}

}  // namespace allm
