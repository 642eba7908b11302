// Reads strings, containers and whole Json values out of nodes, within limits. The codec builds on
// it. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "allm/json.hpp"

#include "data/failure.hpp"
#include "data/json_node.hpp"

namespace allm::codec {

// The number of values of a text whose length is its only limit.
inline constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);

// "a string", "null", …
std::string_view describe(NodeKind kind);

// Finds a key that comes twice. The texts of keys must outlive it.
class KeySet {
 public:
  // Whether the key is new.
  bool insert(std::string_view key) {
    if (count_ == kFew) return insert_into_many(key);
    for (std::size_t i = 0; i < count_; ++i) {
      if (std::string_view(few_[i].data, few_[i].size) == key) return false;
    }
    few_[count_++] = {key.data(), key.size()};
    return true;
  }

 private:
  // Most objects are small: these few are left uninitialised, which string_views cannot be.
  struct Key {
    const char* data;
    std::size_t size;
  };
  static constexpr std::size_t kFew = 16;
  bool insert_into_many(std::string_view key);

  std::size_t count_ = 0;
  Key few_[kFew];
  std::unique_ptr<std::unordered_set<std::string_view>> many_;
};

class Reader {
 public:
  // The limits must outlive the reader.
  explicit Reader(const ReadLimits& limits, std::size_t max_values = kAnyNumber)
      : limits_(limits), values_left_(max_values) {}

  Failure& failure() { return failure_; }
  bool fail(std::string_view reason, std::string message) { return failure_.fail(reason, std::move(message)); }
  bool fail_duplicate(std::string_view key);
  bool fail_type(std::string_view expected, NodeKind found);

  bool check_string(std::string_view text) {
    return text.size() <= limits_.max_string_bytes || fail_string(text.size());
  }
  bool check_items(std::size_t count) { return count <= limits_.max_items || fail_items(); }

  // Counts a level of nesting for as long as it lives; false if that is one too many.
  class Level {
   public:
    explicit Level(Reader& reader) : reader_(reader) { ++reader.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --reader_.depth_; }
    bool check() const { return reader_.depth_ <= reader_.limits_.max_depth || reader_.fail_depth(); }

   private:
    Reader& reader_;
  };

  // How many values may still be made.
  std::size_t& values_left() { return values_left_; }

  // Replaces `out` by the node's value.
  template <class Node>
  bool json(Node node, Json& out);

  // Adds a member whose key is known to be new.
  template <class Node>
  bool add_member(std::string_view key, Node node, Json::object_t& out) {
    if (!check_string(key)) return failure_.at(key.substr(0, 64));
    auto& member = out.emplace_back(std::string(key), nullptr);
    return json(node, member.second) || failure_.at(key);
  }

 private:
  template <class Node>
  bool array(Node node, Json& out);
  template <class Node>
  bool object(Node node, Json& out);
  bool fail_string(std::size_t bytes);
  bool fail_items();
  bool fail_depth();
  bool fail_values();

  const ReadLimits& limits_;
  std::size_t values_left_;
  std::size_t depth_ = 0;
  Failure failure_;
};

extern template bool Reader::json(TextNode, Json&);
extern template bool Reader::json(ValueNode, Json&);

}  // namespace allm::codec
