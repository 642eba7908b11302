// Decodes responses of the Responses endpoint.
#include <array>
#include <utility>

#include "providers/openai/chunk_template.hpp"
#include "providers/openai/decoders.hpp"
#include "providers/openai/errors.hpp"
#include "providers/openai/fast_reader.hpp"
#include "providers/openai/responses_message.hpp"
#include "providers/provider_json.hpp"

namespace allm::openai_wire {
namespace {

constexpr std::array<std::string_view, 1> kResponsesPieces = {"delta"};
constexpr std::array<std::string_view, 3> kHeads = {"response.created", "response.in_progress", "response.queued"};

// The report of a failed response, which may contain no error object.
ErrorReport report_of(const Json& response) {
  ErrorReport report = read_error(response);
  if (report.empty()) {
    report.message = "the response ended with the status '" + std::string(text_member(response, "status")) + "'";
    report.code = "server_error";
  }
  return report;
}

bool has_failed(const Json& response) {
  const std::string_view status = text_member(response, "status");
  return status == "failed" || status == "cancelled";
}

class ResponsesDecoder final : public StreamDecoder {
 public:
  explicit ResponsesDecoder(DecoderContext given)
      : StreamDecoder(std::move(given), kResponsesPieces), message_(context().provider, context().id_seed) {}

 private:
  void set_answer_limits(const AnswerLimits& limits) override { message_.set_limits(limits); }
  std::vector<AdapterWarning> take_warnings() override { return message_.take_warnings(); }

  void take(const SseEvent& event, std::vector<Event>& events) override {
    take_any(event, events);
    if (message_.is_too_large() && !has_ended()) fail_malformed(message_.error(), {}, events);
  }

  void take_any(const SseEvent& event, std::vector<Event>& events) {
    if (!context().raw_chunks && started()) {
      if (const auto text = template_.match(event.data)) return message_.add_text(*text, events);
      if (read_fast_delta(event.data, delta_) && take_delta(delta_.kind, delta_.item_id, delta_.delta, events)) {
        if (delta_.kind == FastDelta::Kind::text) template_.learn(event.data);
        return;
      }
    }
    const std::optional<Json> chunk = read_chunk(event.data, events);
    if (!chunk) return;
    std::string_view type = text_member(*chunk, "type");
    if (type.empty()) type = event.event;
    // In this event, the members of the error are at the top level.
    if (type == "error") return fail_inband(*chunk, flat_report(*chunk), events);
    const Json* response = find_member(*chunk, "response");
    if (type == "response.failed" || (response != nullptr && has_failed(*response))) {
      return fail_inband(*chunk, report_of(response == nullptr ? *chunk : *response), events);
    }
    begin_chunk(*chunk, events);
    if (response != nullptr && (type == "response.completed" || type == "response.incomplete")) {
      MessageCompleted completed = message_.complete(*response, events);
      if (message_.is_too_large()) return;
      whole_ = true;
      return complete(std::move(completed), events);
    }
    take_typed(type, *chunk, events);
  }

  void take_whole(const Json& body, std::vector<Event>& events) override {
    if (has_failed(body)) return fail_inband(body, report_of(body), events);
    if (find_member(body, "output") == nullptr) {
      return fail(malformed_response(context().provider, context().provider + "'s answer has no output",
                                     write_json(body).value_or("")),
                  events);
    }
    begin_chunk(body, events);
    MessageCompleted completed = message_.complete(body, events);
    if (message_.is_too_large()) {
      return fail(malformed_response(context().provider,
                                     context().provider + "'s answer cannot be read: " + message_.error(), {}),
                  events);
    }
    complete(std::move(completed), events);
  }

  bool is_whole() const override { return whole_; }

  void end_message(bool, std::vector<Event>& events) override { fail(truncated_stream(context().provider), events); }

  static ErrorReport flat_report(const Json& chunk) {
    ErrorReport report = read_error(chunk);
    if (report.type == "error") report.type.clear();
    return report;
  }

  // Returns false if this is not a delta, or if it belongs to an unknown item.
  bool take_delta(FastDelta::Kind kind, std::string_view item_id, std::string_view delta, std::vector<Event>& events) {
    switch (kind) {
      case FastDelta::Kind::none:
        return false;
      case FastDelta::Kind::text:
        message_.add_text(delta, events);
        break;
      case FastDelta::Kind::arguments:
        return message_.add_arguments(item_id, delta, events);
      case FastDelta::Kind::summary:
        message_.add_summary(delta, events);
        break;
      case FastDelta::Kind::reasoning:
        message_.add_reasoning(delta, events);
        break;
      case FastDelta::Kind::refusal:
        message_.add_refusal(delta);
        break;
    }
    return true;
  }

  // Unknown types are ignored.
  void take_typed(std::string_view type, const Json& chunk, std::vector<Event>& events) {
    if (take_delta(delta_kind(type), text_member(chunk, "item_id"), text_member(chunk, "delta"), events)) return;
    if (std::ranges::find(kHeads, type) != kHeads.end()) {
      if (const Json* response = find_member(chunk, "response")) message_.add_head(*response);
    } else if (type == "response.reasoning_summary_part.added") {
      message_.begin_summary_part();
    } else if (type == "response.function_call_arguments.done") {
      message_.end_arguments(text_member(chunk, "item_id"), chunk, events);
    } else {
      take_part(type, chunk);
      take_item(type, chunk, events);
    }
  }

  void take_part(std::string_view type, const Json& chunk) {
    const Json* part = find_member(chunk, "part");
    if (type == "response.content_part.added" && part != nullptr) message_.begin_part(*part);
    if (type == "response.output_text.done" || type == "response.refusal.done") part = &chunk;
    const bool ends = part == &chunk || (type == "response.content_part.done" && part != nullptr);
    // The parts of reasoning items are not parts of the answer.
    if (!ends || (find_member(*part, "text") == nullptr && find_member(*part, "refusal") == nullptr)) return;
    if (part != &chunk && !is_answer_part(text_member(*part, "type"))) return;
    message_.end_part(
        {integer_member(chunk, "output_index").value_or(0), integer_member(chunk, "content_index").value_or(0)}, *part);
  }

  static bool is_answer_part(std::string_view type) { return type == "output_text" || type == "refusal"; }

  void take_item(std::string_view type, const Json& chunk, std::vector<Event>& events) {
    const Json* item = find_member(chunk, "item");
    if (item == nullptr) return;
    if (type == "response.output_item.added") message_.begin_item(*item, events);
    if (type == "response.output_item.done") {
      message_.end_item(integer_member(chunk, "output_index").value_or(0), *item, events);
    }
  }

  ChunkTemplate template_{"delta"};
  FastDelta delta_;
  ResponsesMessage message_;
  bool whole_ = false;
};

}  // namespace

std::unique_ptr<BodyDecoder> responses_decoder(DecoderContext context) {
  return std::make_unique<ResponsesDecoder>(std::move(context));
}

}  // namespace allm::openai_wire
