#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/adapter.hpp"
#include "allm/recording.hpp"

#include "testing/recording/recording_file.hpp"

namespace allm {
namespace {

// What the stream needs to write its exchange. Owned by the stream.
struct RecordedCall {
  std::shared_ptr<RecordingWriter> file;
  std::string provider;
  AdapterCall call;

  void write(const std::vector<Event>& events, Exchange::End end) const {
    file->append(write_exchange(provider, call, events, end));
  }
};

// Passes on the events of the model's source, and writes the exchange at the end. One thread at a time.
class RecordingSource : public EventSource {
 public:
  RecordingSource(std::unique_ptr<EventSource> source, RecordedCall call)
      : source_(std::move(source)), call_(std::move(call)) {}
  ~RecordingSource() override {
    source_.reset();  // first, so that cancelling the call does not wait for the disk
    write();
  }

  Poll poll(const Waker& waker) override {
    Poll polled = source_->poll(waker);
    if (polled.has_event()) {
      keep(polled.event());
    } else if (polled.is_end()) {
      if (end_ == Exchange::End::dropped) end_ = Exchange::End::completed;
      write();
    }
    return polled;
  }

 private:
  void keep(const Event& event) {
    if (written_ || end_ == Exchange::End::failed) return;  // nothing is recorded after the last event
    if (event.tag() == EventTag::message_completed) end_ = Exchange::End::completed;
    if (event.tag() == EventTag::error) end_ = Exchange::End::failed;
    events_.push_back(event);
  }

  void write() {
    if (!std::exchange(written_, true)) call_.write(events_, end_);
  }

  std::unique_ptr<EventSource> source_;
  RecordedCall call_;
  std::vector<Event> events_;
  Exchange::End end_ = Exchange::End::dropped;
  bool written_ = false;
};

class RecordingAdapter : public Adapter {
 public:
  RecordingAdapter(std::shared_ptr<Adapter> adapter, std::shared_ptr<RecordingWriter> file)
      : adapter_(std::move(adapter)), file_(std::move(file)) {}

  std::string_view provider() const override { return adapter_->provider(); }
  bool calls_engines() const override { return adapter_->calls_engines(); }

  Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) override {
    if (std::optional<Error> failure = file_->failure()) return std::unexpected(*std::move(failure));
    RecordedCall recorded{.file = file_, .provider = std::string(provider()), .call = call};
    recorded.call.runtime = nullptr;  // the stream must not keep the runtime and its threads alive
    recorded.call.budget = nullptr;
    Result<std::unique_ptr<EventSource>> source = adapter_->open(call);
    if (!source) {
      recorded.write({ErrorEvent{source.error()}}, Exchange::End::failed);
      return source;
    }
    if (!*source) {
      recorded.write({}, Exchange::End::completed);
      return source;
    }
    return std::make_unique<RecordingSource>(*std::move(source), std::move(recorded));
  }

 private:
  const std::shared_ptr<Adapter> adapter_;
  const std::shared_ptr<RecordingWriter> file_;
};

}  // namespace

Result<std::shared_ptr<Adapter>> record(std::shared_ptr<Adapter> adapter, std::string path, RecordOptions options) {
  if (!adapter) {
    return std::unexpected(Error(EngineError{.reason = EngineError::Reason::missing_adapter},
                                 "there is nothing to record: give record() the adapter that reaches the model"));
  }
  Result<std::shared_ptr<RecordingWriter>> file = RecordingWriter::open(std::move(path), options.append);
  if (!file) return std::unexpected(file.error());
  return std::make_shared<RecordingAdapter>(std::move(adapter), *std::move(file));
}

}  // namespace allm
