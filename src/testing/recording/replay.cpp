#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/adapter.hpp"
#include "allm/recording.hpp"

#include "data/failure.hpp"
#include "testing/recording/difference.hpp"
#include "testing/recording/recording_file.hpp"

namespace allm {
namespace {

// The contents of a file. Immutable, shared by the adapter and its streams.
struct Recording {
  std::string path;  // for messages
  std::vector<Exchange> exchanges;

  std::string provider() const { return exchanges.empty() ? "replay" : exchanges.front().provider; }
  static std::string name_of(std::size_t index) {
    return "exchange " + std::to_string(index + 1) + " (line " + std::to_string(index + 2) + ")";
  }
  Error failure(AdapterError::Reason reason, const std::string& what) const {
    return Error(AdapterError{.reason = reason, .provider = provider()}, "the recording '" + path + "' " + what,
                 {{"retryable", false}});
  }
};

// One thread at a time.
class ReplaySource : public EventSource {
 public:
  ReplaySource(std::shared_ptr<const Recording> recording, std::size_t index)
      : recording_(std::move(recording)), index_(index) {}

  Poll poll(const Waker&) override {
    const Exchange& exchange = recording_->exchanges[index_];
    if (next_ < exchange.events.size()) return exchange.events[next_++];
    if (exchange.end != Exchange::End::dropped || std::exchange(cut_, true)) return Poll::end();
    return ErrorEvent{
        recording_->failure(AdapterError::Reason::malformed_response,
                            "is cut here: the stream of " + Recording::name_of(index_) +
                                " was dropped while it was recorded; record again and read it to its end")};
  }

 private:
  std::shared_ptr<const Recording> recording_;
  std::size_t index_;
  std::size_t next_ = 0;
  bool cut_ = false;  // the error about the cut was returned
};

class ReplayAdapter : public Adapter {
 public:
  ReplayAdapter(Recording recording, bool reuse, Pointers ignored)
      : recording_(std::make_shared<const Recording>(std::move(recording))),
        provider_(recording_->provider()),
        reuse_(reuse),
        ignored_(std::move(ignored)),
        uses_(recording_->exchanges.size()) {}

  std::string_view provider() const override { return provider_; }

  Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) override {
    const Json request = request_form(call);
    const std::lock_guard lock(mutex_);
    const std::optional<std::size_t> found = find(request);
    if (!found) return std::unexpected(recording_->failure(AdapterError::Reason::invalid_request, mismatch(request)));
    ++uses_[*found];
    return std::make_unique<ReplaySource>(recording_, *found);
  }

 private:
  bool may_answer(std::size_t index) const { return reuse_ || uses_[index] == 0; }

  // Of the exchanges that match, the first with the fewest uses; nullopt if none matches.
  std::optional<std::size_t> find(const Json& request) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (!may_answer(i) || (best && uses_[i] >= uses_[*best])) continue;
      if (!first_difference(recording_->exchanges[i].request, request, ignored_)) best = i;
    }
    return best;
  }

  std::string mismatch(const Json& request) const {
    if (uses_.empty()) return "holds no exchange; record again";
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (!may_answer(i)) continue;
      const auto difference = first_difference(recording_->exchanges[i].request, request, ignored_);
      return "has no exchange for this request, which differs from " + Recording::name_of(i) +
             (reuse_ ? "" : ", the first that is unused,") + " at " + codec::printable(difference->pointer) + ": " +
             describe(*difference) +
             "; record again, or add the pointer to ReplayOptions::ignore if the difference does not matter";
    }
    return "has no exchange left for this request: all " + std::to_string(uses_.size()) +
           " were used; record again, or set ReplayOptions::reuse to let them answer more than once";
  }

  const std::shared_ptr<const Recording> recording_;
  const std::string provider_;
  const bool reuse_;
  const Pointers ignored_;
  std::mutex mutex_;
  std::vector<std::size_t> uses_;  // of each exchange
};

}  // namespace

Result<std::shared_ptr<Adapter>> replay(const std::string& path, ReplayOptions options) {
  for (std::size_t i = 0; i < options.ignore.size(); ++i) {
    if (is_json_pointer(options.ignore[i])) continue;
    return std::unexpected(
        validation_error(ValidationError::Reason::invalid_option, {std::string("ignore"), static_cast<std::int64_t>(i)},
                         "invalid_pointer",
                         "ReplayOptions::ignore: '" + codec::printable(options.ignore[i]) +
                             "' is not a JSON pointer: write it as /request/data/messages/0, with ~1 "
                             "for a slash in a name and ~0 for a ~"));
  }
  Result<std::vector<Exchange>> exchanges = read_recording(path);
  if (!exchanges) return std::unexpected(exchanges.error());
  Pointers ignored(options.ignore.begin(), options.ignore.end());
  // The events are the same, whether the answer was streamed or not.
  ignored.insert("/request/data/stream");
  return std::make_shared<ReplayAdapter>(Recording{.path = codec::printable(path), .exchanges = *std::move(exchanges)},
                                         options.reuse, std::move(ignored));
}

}  // namespace allm
