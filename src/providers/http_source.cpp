#include "providers/http_source.hpp"

#include <algorithm>
#include <utility>

#include "providers/redact.hpp"

namespace allm {

HttpSource::HttpSource(std::shared_ptr<const Codec> codec, Codec::DecoderMaker make_decoder,
                       CompleteError complete_error, std::shared_ptr<Runtime> runtime, Send send, OnLeftOut on_left_out,
                       Warn warn, HttpRequest request, const DecoderLimits& limits)
    : codec_(std::move(codec)),
      make_decoder_(std::move(make_decoder)),
      complete_error_(std::move(complete_error)),
      limits_(limits),
      runtime_(std::move(runtime)),
      send_(std::move(send)),
      on_left_out_(std::move(on_left_out)),
      warn_(std::move(warn)),
      transfer_(send_(std::move(request))) {}

Poll HttpSource::poll(const Waker& waker) {
  for (std::size_t quiet = 0;; quiet += kSliceBytes) {
    if (next_ < events_.size()) {
      Event& event = events_[next_++];
      if (auto* failed = event.get_if<ErrorEvent>()) failed->error = complete_error_(failed->error, head_.status);
      return std::move(event);
    }
    events_.clear();
    next_ = 0;
    if (!transfer_) return Poll::end();
    if (quiet >= kQuietBytes) {
      waker.wake();
      return Poll::pending();
    }
    if (decoded_ < bytes_.size()) {
      decode();
    } else if (!advance(waker)) {
      return Poll::pending();
    }
  }
}

bool HttpSource::advance(const Waker& waker) {
  HttpTransfer::Progress progress = transfer_->poll(waker, std::move(spare_));
  if (std::holds_alternative<HttpTransfer::Pending>(progress)) return false;
  if (auto* head = std::get_if<HttpResponseHead>(&progress)) {
    begin(std::move(*head));
  } else if (auto* bytes = std::get_if<std::string>(&progress)) {
    body(std::move(*bytes));
  } else if (const auto* error = std::get_if<HttpError>(&progress)) {
    fail(*error);
  } else {
    end();
  }
  return true;
}

void HttpSource::begin(HttpResponseHead head) {
  head_ = std::move(head);
  if (head_.status >= 300 && head_.status < 400) {
    const std::string* location = find_header(head_.headers, "location");
    return fail(
        Error(AdapterError{.reason = AdapterError::Reason::invalid_request,
                           .provider = std::string(codec_->provider()),
                           .status = head_.status},
              "the server redirects" + (location == nullptr ? "" : " to " + redact(*location)) +
                  "; redirects are not followed, so that the key is not sent to another server: use the final URL"));
  }
  if (head_.status >= 300) return;
  decoder_ = make_decoder_(head_);
  decoder_->set_limits(limits_);
}

void HttpSource::body(std::string bytes) {
  if (decoder_) {
    bytes_ = std::move(bytes);
    decoded_ = 0;
    decode();
  } else {
    error_body_.append(bytes, 0, kMaxErrorBody - std::min(kMaxErrorBody, error_body_.size()));
    spare_ = std::move(bytes);
  }
}

void HttpSource::decode() {
  const std::string_view slice = std::string_view(bytes_).substr(decoded_, kSliceBytes);
  // Avoids reallocations for a piece that contains a whole answer.
  events_.reserve(std::min(kManyEvents, slice.size() / kUsualEventBytes));
  decoder_->feed(slice, events_);
  decoded_ += slice.size();
  report_warnings();
  if (decoder_->done()) {
    transfer_->drain_in_background();
    transfer_.reset();
  } else if (decoded_ == bytes_.size()) {
    spare_ = std::exchange(bytes_, {});
    decoded_ = 0;
  }
}

void HttpSource::report_warnings() {
  for (const AdapterWarning& warning : decoder_->take_warnings()) {
    if (warn_) warn_(warning);
  }
}

void HttpSource::end() {
  if (!decoder_) return end_with_error();
  decoder_->finish(events_);
  report_warnings();
  transfer_.reset();
}

void HttpSource::end_with_error() {
  const Send send = std::exchange(send_, nullptr);
  if (std::optional<FallbackRequest> fallback =
          send ? codec_->fallback_request(transfer_->sent(), head_, error_body_) : std::nullopt) {
    if (!fallback->left_out.empty()) on_left_out_(fallback->left_out);
    transfer_ = send(std::move(fallback->request));
    head_ = {};
    error_body_.clear();
    return;
  }
  fail(codec_->error(head_, error_body_));
}

void HttpSource::fail(const HttpError& error) {
  if (decoder_ && decoder_->has_answer()) return end();
  if (head_.status >= 400) return fail(codec_->error(head_, error_body_));
  AdapterError detail{.reason = AdapterError::Reason::network_error, .provider = std::string(codec_->provider())};
  if (error.kind == HttpError::Kind::timeout) detail.reason = AdapterError::Reason::timeout;
  if (error.kind == HttpError::Kind::too_large) detail.reason = AdapterError::Reason::malformed_response;
  if (head_.status != 0) detail.status = head_.status;
  fail(Error(std::move(detail), redact(error.message),
             error.is_permanent ? Json{{"retryable", false}} : Json::object()));
}

void HttpSource::fail(Error error) {
  events_.emplace_back(ErrorEvent{std::move(error)});
  transfer_.reset();
}

}  // namespace allm
