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
  void take(const SseEvent& event, std::vector<Event>& events) override {
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
      whole_ = true;
      return complete(message_.complete(*response, events), events);
    }
    if (!take_typed(type, *chunk, events)) fail_malformed("the answer has more items than can be", {}, events);
  }

  void take_whole(const Json& body, std::vector<Event>& events) override {
    if (has_failed(body)) return fail_inband(body, report_of(body), events);
    if (find_member(body, "output") == nullptr) {
      return fail(malformed_response(context().provider, context().provider + "'s answer has no output",
                                     write_json(body).value_or("")),
                  events);
    }
    begin_chunk(body, events);
    complete(message_.complete(body, events), events);
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

  // Returns false if there are too many items. Unknown types are ignored.
  bool take_typed(std::string_view type, const Json& chunk, std::vector<Event>& events) {
    if (take_delta(delta_kind(type), text_member(chunk, "item_id"), text_member(chunk, "delta"), events)) return true;
    if (std::ranges::find(kHeads, type) != kHeads.end()) {
      if (const Json* response = find_member(chunk, "response")) message_.add_head(*response);
      return true;
    }
    if (type == "response.reasoning_summary_part.added") message_.begin_summary_part();
    const Json* item = find_member(chunk, "item");
    if (item == nullptr) return true;
    if (type == "response.output_item.added") return message_.begin_item(*item, events);
    if (type == "response.output_item.done") {
      return message_.end_item(integer_member(chunk, "output_index").value_or(0), *item, events);
    }
    return true;
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
