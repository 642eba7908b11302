#include "http/sse_parser.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <system_error>

namespace allm {
namespace {

constexpr std::array<std::string_view, 4> kFieldNames = {"data", "event", "id", "retry"};
constexpr std::string_view kBom = "\xEF\xBB\xBF";
constexpr std::size_t kFirstCapacity = 4096;

// Whether a line at the end of the body is the beginning of a field's name.
bool is_cut_off_name(std::string_view line) {
  return std::ranges::any_of(
      kFieldNames, [line](std::string_view name) { return name.size() > line.size() && name.starts_with(line); });
}

}  // namespace

SseParser::SseParser(SseLimits limits) : limits_(limits) {}

void SseParser::feed(std::string_view bytes) {
  if (too_large_ || bytes.empty()) return;
  if (dispatched_) start_event();
  append(bytes);
}

void SseParser::append(std::string_view bytes) {
  if (capacity_ < used_ + bytes.size() + kSsePadding) make_room(bytes.size());
  std::memcpy(buffer_.get() + used_, bytes.data(), bytes.size());
  used_ += bytes.size();
  std::memset(buffer_.get() + used_, 0, kSsePadding);
}

void SseParser::make_room(std::size_t bytes) {
  const std::size_t kept_from = data_lines_ == 1 ? data_begin_ : line_;
  const std::size_t kept = used_ - kept_from;
  const std::size_t needed = kept + bytes + kSsePadding;
  // Moves no more bytes than were consumed since the last move, so that the cost per byte stays constant.
  if (needed <= capacity_ && kept <= kept_from) {
    std::memmove(buffer_.get(), buffer_.get() + kept_from, kept);
  } else {
    const std::size_t capacity = std::max({kFirstCapacity, 2 * capacity_, needed});
    auto buffer = std::make_unique_for_overwrite<char[]>(capacity);
    if (kept > 0) std::memcpy(buffer.get(), buffer_.get() + kept_from, kept);
    buffer_ = std::move(buffer);
    capacity_ = capacity;
  }
  forget_front(kept_from);
}

void SseParser::forget_front(std::size_t bytes) {
  used_ -= bytes;
  line_ -= bytes;
  for (Mark* mark : {&newline_, &carriage_return_}) {
    *mark = mark->at < bytes ? Mark{} : Mark{mark->at - bytes, mark->found};
  }
  if (data_lines_ == 1) {
    data_begin_ -= bytes;
    data_end_ -= bytes;
  }
}

std::optional<SseEvent> SseParser::next() {
  if (dispatched_) start_event();
  if (too_large_ || (at_start_ && !skip_bom())) return std::nullopt;
  while (true) {
    const std::optional<std::size_t> end = find_line_end();
    if (!fits(end.value_or(used_) - line_) || !end) return std::nullopt;
    const std::string_view line(buffer_.get() + line_, *end - line_);
    skip_newline_ = buffer_[*end] == '\r';
    line_ = *end + 1;
    if (!line.empty()) {
      take_line(line);
    } else if (std::optional<SseEvent> event = dispatch()) {
      return event;
    }
  }
}

std::optional<SseEvent> SseParser::finish() {
  if (std::optional<SseEvent> event = next()) return event;
  if (too_large_) return std::nullopt;
  const std::size_t begin = line_;
  line_ = used_;
  newline_ = carriage_return_ = {.at = used_};
  const std::string_view line(buffer_.get() + begin, used_ - begin);
  if (!line.empty() && !is_cut_off_name(line)) take_line(line);
  return dispatch();
}

bool SseParser::skip_bom() {
  const std::string_view start(buffer_.get(), std::min(used_, kBom.size()));
  if (start.size() < kBom.size() && kBom.starts_with(start)) return false;
  if (start == kBom) line_ = newline_.at = carriage_return_.at = kBom.size();
  at_start_ = false;
  return true;
}

void SseParser::seek(Mark& mark, char end, std::size_t limit) const {
  if (mark.at < line_) mark = {.at = line_};
  if (mark.found || mark.at >= limit) return;
  const void* found = std::memchr(buffer_.get() + mark.at, end, limit - mark.at);
  mark.found = found != nullptr;
  mark.at = mark.found ? static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.get()) : limit;
}

std::optional<std::size_t> SseParser::find_line_end() {
  if (skip_newline_ && line_ < used_) {
    skip_newline_ = false;
    if (buffer_[line_] == '\n') ++line_;
  }
  // Each byte is searched once for each kind of line end: a mark stays until the lines have passed it.
  seek(newline_, '\n', used_);
  seek(carriage_return_, '\r', newline_.at);
  if (carriage_return_.found && carriage_return_.at < newline_.at) return carriage_return_.at;
  if (newline_.found) return newline_.at;
  return std::nullopt;
}

bool SseParser::fits(std::size_t bytes) {
  if (bytes <= limits_.max_event_bytes - event_bytes_) return true;
  too_large_ = true;
  buffer_.reset();
  capacity_ = used_ = line_ = 0;
  start_event();
  return false;
}

void SseParser::take_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);

  const bool belongs = name == "data" || name == "event";
  // Comments between events take no memory. Within an event they count, because its data stays in the buffer.
  if (belongs || event_bytes_ > 0) event_bytes_ += line.size();
  if (name == "data") {
    take_data(value);
  } else if (name == "event") {
    event_ = value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) id_ = value;
  } else if (name == "retry") {
    std::int64_t retry = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), retry);
    if (code == std::errc() && end == value.data() + value.size() && retry >= 0 && value.front() != '-') {
      retry_ms_ = retry;
    }
  } else if (!name.empty()) {
    take_stray(line);
  }
}

void SseParser::take_data(std::string_view value) {
  if (data_lines_ == 0) {
    data_begin_ = value.empty() ? line_ : static_cast<std::size_t>(value.data() - buffer_.get());
    data_end_ = data_begin_ + value.size();
  } else {
    if (data_lines_ == 1) joined_.assign(buffer_.get() + data_begin_, data_end_ - data_begin_);
    joined_ += '\n';
    joined_ += value;
  }
  ++data_lines_;
}

void SseParser::take_stray(std::string_view line) {
  if (!stray_.empty() && stray_.size() < limits_.max_stray_bytes) stray_ += '\n';
  stray_ += line.substr(0, limits_.max_stray_bytes - std::min(stray_.size(), limits_.max_stray_bytes));
}

std::optional<SseEvent> SseParser::dispatch() {
  if (data_lines_ == 0) {
    start_event();
    return std::nullopt;
  }
  dispatched_ = true;
  if (data_lines_ == 1) {
    return SseEvent{event_, {buffer_.get() + data_begin_, data_end_ - data_begin_}, id_};
  }
  const std::size_t size = joined_.size();
  joined_.append(kSsePadding, '\0');
  return SseEvent{event_, {joined_.data(), size}, id_};
}

void SseParser::start_event() {
  dispatched_ = false;
  event_.clear();
  joined_.clear();
  data_lines_ = 0;
  event_bytes_ = 0;
}

bool SseParser::too_large() const { return too_large_; }
std::string_view SseParser::stray() const { return stray_; }
std::optional<std::int64_t> SseParser::retry_ms() const { return retry_ms_; }

}  // namespace allm
