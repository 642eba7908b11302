#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/json_text.hpp"

namespace allm::codec {

namespace {

// Builds a Json from the events of nlohmann's parser, which keeps its state on the heap.
class Builder {
 public:
  Builder(const ReadLimits& limits, RepeatedKeys repeated, std::size_t& values_left, Failure& failure, Json& out)
      : limits_(limits), repeated_(repeated), values_left_(values_left), failure_(failure), out_(out) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& /*text*/) { return add(value); }
  bool string(std::string& value) { return check_string(value) && add(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) { return false; }

  bool start_object(std::size_t /*size*/) { return open(true); }
  bool start_array(std::size_t /*size*/) { return open(false); }

  bool key(std::string& name) {
    Frame& frame = frames_.back();
    frame.key = std::move(name);
    if (!check_string(frame.key)) return false;
    const auto [place, is_new] = frame.keys.try_emplace(frame.key, frame.members.size());
    frame.place = place->second;
    if (is_new || repeated_ == RepeatedKeys::last_wins) return true;
    return fail("duplicate_key", "the member occurs twice in its object; remove one of them");
  }

  bool end_object() {
    Frame frame = pop();
    Json::object_t object;
    object.reserve(frame.members.size());
    for (auto& [name, value] : frame.members) object.emplace_back(std::move(name), std::move(value));
    return add(std::move(object));
  }
  bool end_array() {
    Frame frame = pop();
    return add(std::move(frame.elements));
  }

  bool parse_error(std::size_t position, const std::string& /*token*/, const nlohmann::detail::exception& error) {
    // "[json.exception.…] parse error at line 1, column 5: what; last read: 'the text itself'": the
    // place comes as a byte, and the text's own bytes may be anything.
    std::string_view what = error.what();
    for (const std::string_view prefix_end : {"] ", ": "}) {
      if (const auto end = what.find(prefix_end); end != std::string_view::npos) what.remove_prefix(end + 2);
    }
    what = what.substr(0, std::min<std::size_t>(what.find("; last read"), 200));
    return failure_.fail(
        "malformed", fmt::format("malformed JSON at byte {}: {}", position > 0 ? position - 1 : 0, printable(what)));
  }

 private:
  struct Frame {
    bool object = false;
    std::string key;
    std::vector<std::pair<std::string, Json>> members;
    Json::array_t elements;
    std::unordered_map<std::string, std::size_t> keys;  // with the places of their members
    std::size_t place = 0;                              // of the next member
  };

  Frame pop() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    return frame;
  }

  bool open(bool object) {
    if (frames_.size() >= limits_.max_depth) return fail("too_deep", "the text nests too deep (ReadLimits::max_depth)");
    frames_.push_back({.object = object});
    return true;
  }

  bool add(Json value) {
    if (values_left_ == 0) return fail("too_large", "there are more values than the limit allows");
    --values_left_;
    if (frames_.empty()) {
      out_ = std::move(value);
      return true;
    }
    Frame& frame = frames_.back();
    if (frame.object && frame.place < frame.members.size()) {
      frame.members[frame.place].second = std::move(value);
      return true;
    }
    if (frame.members.size() + frame.elements.size() >= limits_.max_items) {
      return fail("too_large", "more elements or members than ReadLimits::max_items allows");
    }
    if (frame.object) {
      frame.members.emplace_back(std::move(frame.key), std::move(value));
    } else {
      frame.elements.push_back(std::move(value));
    }
    return true;
  }

  bool check_string(const std::string& text) {
    return text.size() <= limits_.max_string_bytes ||
           fail("too_large", "a text is longer than ReadLimits::max_string_bytes allows");
  }

  bool fail(std::string_view reason, std::string message) {
    failure_.fail(reason, std::move(message));
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
      if (frame->object) {
        failure_.at(frame->key);
      } else {
        failure_.at(frame->elements.size());
      }
    }
    return false;
  }

  const ReadLimits& limits_;
  const RepeatedKeys repeated_;
  std::size_t& values_left_;
  Failure& failure_;
  Json& out_;
  std::vector<Frame> frames_;
};

}  // namespace

bool read_slowly(std::string_view text, const ReadLimits& limits, RepeatedKeys repeated, std::size_t& values_left,
                 Failure& failure, Json& out) {
  Builder builder(limits, repeated, values_left, failure, out);
  return Json::sax_parse(text.begin(), text.end(), &builder);
}

}  // namespace allm::codec
