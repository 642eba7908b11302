// Base of the decoders of whole bodies: collects one JSON document and reads it when it is complete. One thread at a
// time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "providers/codec.hpp"

namespace allm {

class WholeDecoder : public BodyDecoder {
 public:
  void feed(std::string_view bytes, std::vector<Event>& events) final;
  void finish(std::vector<Event>& events) final;
  bool done() const final { return done_; }
  void set_limits(const DecoderLimits& limits) override { max_body_bytes_ = limits.max_body_bytes; }

 protected:
  WholeDecoder(std::string_view provider, bool include_raw_chunks);

  // Produces the events of the document (an object or an array), including the terminal event.
  virtual void take_document(const Json& document, std::vector<Event>& events) = 0;

  std::string_view provider() const { return provider_; }
  bool include_raw_chunks() const { return include_raw_chunks_; }

 private:
  void fail(std::string_view message, std::string_view payload, std::vector<Event>& events);

  std::string provider_;
  bool include_raw_chunks_;
  bool done_ = false;
  std::size_t max_body_bytes_ = DecoderLimits().max_body_bytes;
  std::string body_;
};

}  // namespace allm
