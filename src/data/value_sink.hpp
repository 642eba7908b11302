// Builds a Json, with the interface of TextSink. A Json can hold every value, also invalid UTF-8 and
// NaN, so nothing fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/json.hpp"

#include "data/failure.hpp"

namespace allm::codec {

class ValueSink {
 public:
  // Required by the interface; never set.
  Failure& failure() { return failure_; }
  bool checks() const { return false; }
  Json take() { return std::move(result_); }

  void expect_items(std::size_t /*count*/) {}
  void begin_object(std::size_t expected_members = 0) {
    Json::object_t object;
    object.reserve(expected_members);  // growing would copy: keys of an object_t are const
    open(std::move(object));
  }
  void end_object() { close(); }
  void begin_array(std::size_t expected_elements = 0) {
    Json::array_t array;
    array.reserve(expected_elements);
    open(std::move(array));
  }
  void end_array() { close(); }
  void begin_tagged(std::string_view tag) {
    begin_object(2);
    key("__type__");
    word(tag);
    key("data");
    begin_object(kMostFields);
  }
  void end_tagged() {
    end_object();
    end_object();
  }

  void key(std::string_view name) { frames_.back().key = name; }
  void null() { add(nullptr); }
  void boolean(bool value) { add(value); }
  void integer(std::int64_t value) { value < 0 ? add(value) : add(static_cast<std::uint64_t>(value)); }
  bool real(double value) { return add(value); }
  bool string(std::string_view value) { return add(value); }
  void word(std::string_view value) { add(value); }
  bool json(const Json& value) { return add(value); }
  bool member(const std::string& name, const Json& value) {
    key(name);
    return add(value);
  }

 private:
  static constexpr std::size_t kMostFields = 14;
  struct Frame {
    Json value;
    std::string key = {};  // of the member that comes next
  };

  void open(Json value) { frames_.push_back({std::move(value)}); }
  void close() {
    Json value = std::move(frames_.back().value);
    frames_.pop_back();
    add(std::move(value));
  }
  bool add(Json value) {
    if (frames_.empty()) {
      result_ = std::move(value);
    } else if (auto* object = frames_.back().value.get_ptr<Json::object_t*>()) {
      object->emplace_back(std::move(frames_.back().key), std::move(value));
    } else {
      frames_.back().value.get_ptr<Json::array_t*>()->push_back(std::move(value));
    }
    return true;
  }

  Failure failure_;
  std::vector<Frame> frames_;
  Json result_;
};

}  // namespace allm::codec
