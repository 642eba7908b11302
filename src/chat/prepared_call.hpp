// A run's model call with its request, model and options resolved. Made once per run; each step only sets its messages.
#pragma once

#include <cstddef>
#include <memory>

#include "allm/adapter.hpp"

#include "data/validate.hpp"
#include "engine/run.hpp"

namespace allm {

class PreparedCall {
 public:
  // `run` must outlive this.
  explicit PreparedCall(const Run& run);

  const AdapterCall& call() const { return call_; }
  AdapterCall& call() { return call_; }
  const MessageList& messages() const { return call_.request.messages; }
  // The messages, of which those below index `checked` were checked before. Fails if calls and results do not fit
  // together; calls without a result get one in the request, as data/pairing.hpp describes.
  Status set_messages(MessageList messages, std::size_t checked, ValidationError::Reason reason);

  // The span of the step that makes the call.
  void set_span(SpanId span) {
    if (span.is_set()) call_.trace.span_id = span;
  }

  // Ends the effect of a forced tool_choice. To be called after the first step of a run. The tools stay as they were
  // sent, because they are a part of the prefix that providers cache.
  void release_tool_choice();

  // Finds the errors that are known before the model call: no adapter, an invalid request, an unusable tool schema, a
  // capability that the model lacks. Messages below `checked_messages` are not checked again.
  Status check(std::size_t checked_messages) const;

 private:
  Status check_capabilities() const;

  const Run& run_;
  AdapterCall call_;
  WrongTypes wrong_types_;
  bool lacks_results_ = false;             // whether results were added to messages that were checked before
  const ModelRef* known_model_ = nullptr;  // in the catalogue
};

}  // namespace allm
