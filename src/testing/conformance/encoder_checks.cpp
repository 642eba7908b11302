#include <exception>
#include <thread>
#include <utility>

#include "data/utf8.hpp"
#include "testing/conformance/report.hpp"

namespace allm {
namespace conformance {
namespace {

constexpr const char* kNotUtf8 = "caf\xe9";

std::vector<Json> sample_values() {
  return {
      nullptr,
      true,
      0,
      -1,
      std::uint64_t{18446744073709551615U},
      1.5,
      "",
      "plain text",
      "a \"quoted\" line\nand a tab\t",
      "Grüße, 世界 🙂",
      Json::array(),
      Json::object(),
      Json::array({1, "two", nullptr, Json::array({3})}),
      Json{{"b", 1}, {"a", Json{{"nested", Json::array({true, false})}}}},
      std::string(100'000, 'x'),
  };
}

std::vector<ToolFailure> sample_failures() {
  std::vector<ToolFailure> failures;
  for (const Json& reason : std::initializer_list<Json>{"disk full", "no such file", Json{{"code", 7}}, nullptr, ""}) {
    failures.push_back({reason});
  }
  for (const auto reason : {ToolError::Reason::timeout, ToolError::Reason::handler_raised, ToolError::Reason::denied}) {
    failures.push_back({Error(ToolError{.reason = reason, .tool_name = "t", .tool_call_id = "c"})});
  }
  return failures;
}

// The encoder's result as text, so that results can be compared. An error is shown by its message.
std::string encoded(ToolResultEncoder& encoder, const Json& value) {
  const Result<std::string> text = encoder.encode(value);
  return text ? *text : "error: " + text.error().message();
}

std::string shown(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
}

class EncoderChecks {
 public:
  EncoderChecks(std::shared_ptr<ToolResultEncoder> encoder, const EncoderConformanceOptions& options)
      : encoder_(std::move(encoder)), options_(options), values_(sample_values()) {
    values_.insert(values_.end(), options.values.begin(), options.values.end());
  }

  Finding encodes_any_json() {
    for (const Json& value : values_) {
      const Result<std::string> text = encoder_->encode(value);
      if (!text) return "encode() failed for " + shown(value) + ": " + text.error().message();
    }
    return std::nullopt;
  }

  Finding is_deterministic() {
    for (const Json& value : values_) {
      if (encoded(*encoder_, value) != encoded(*encoder_, value)) {
        return "two results of encode() differ for " + shown(value) + "; a changed text spoils prompt caches";
      }
    }
    for (const ToolFailure& failure : sample_failures()) {
      if (encoder_->encode_failure(failure) != encoder_->encode_failure(failure)) {
        return "two results of encode_failure() differ for one failure";
      }
    }
    return std::nullopt;
  }

  Finding results_are_utf8() {
    for (const Json& value : values_) {
      const Result<std::string> text = encoder_->encode(value);
      if (text && !is_utf8(*text)) return "encode() gave text that is not valid UTF-8 for " + shown(value);
    }
    for (const ToolFailure& failure : sample_failures()) {
      if (!is_utf8(encoder_->encode_failure(failure))) return "encode_failure() gave text that is not valid UTF-8";
    }
    return std::nullopt;
  }

  // A handler can return bytes that are not valid UTF-8.
  Finding invalid_text_is_refused_or_repaired() {
    for (const Json& value : {Json(kNotUtf8), Json{{"name", kNotUtf8}}}) {
      const Result<std::string> text = encoder_->encode(value);
      if (text && !is_utf8(*text)) {
        return "encode() passed on text that is not valid UTF-8; return an error, or repair it";
      }
      if (!is_utf8(encoder_->encode_failure({value}))) {
        return "encode_failure() passed on text that is not valid UTF-8; it must not fail, so repair it";
      }
    }
    return std::nullopt;
  }

  Finding failures_are_described() {
    for (const ToolFailure& failure : sample_failures()) {
      if (encoder_->encode_failure(failure).empty()) return "encode_failure() gave an empty text";
    }
    if (encoder_->encode_failure({Json("disk full")}) == encoder_->encode_failure({Json("no such file")})) {
      return "encode_failure() gave one text for two different failures; the model cannot tell them apart";
    }
    return std::nullopt;
  }

  Finding calls_at_once() {
    std::vector<std::string> expected;
    expected.reserve(values_.size());
    for (const Json& value : values_) expected.push_back(encoded(*encoder_, value));
    std::vector<Finding> findings(options_.threads);
    {
      std::vector<std::jthread> threads;
      threads.reserve(findings.size());
      for (Finding& finding : findings) threads.emplace_back([&] { finding = differs_from(expected); });
    }
    for (const Finding& finding : findings) {
      if (finding) return *finding + ". An engine's encoder is called by all threads that run conversations.";
    }
    return std::nullopt;
  }

 private:
  Finding differs_from(const std::vector<std::string>& expected) const {
    for (int round = 0; round < 20; ++round) {
      for (std::size_t i = 0; i < values_.size(); ++i) {
        try {
          if (encoded(*encoder_, values_[i]) != expected[i])
            return "called by several threads, encode() gave another text";
        } catch (const std::exception& exception) {
          return std::string("called by several threads, encode() threw: ") + exception.what();
        }
      }
    }
    return std::nullopt;
  }

  std::shared_ptr<ToolResultEncoder> encoder_;
  const EncoderConformanceOptions& options_;
  std::vector<Json> values_;
};

struct EncoderRule {
  const char* name;
  Finding (EncoderChecks::*check)();
};
constexpr EncoderRule kEncoderRules[] = {
    {"encodes_any_json", &EncoderChecks::encodes_any_json},
    {"is_deterministic", &EncoderChecks::is_deterministic},
    {"results_are_utf8", &EncoderChecks::results_are_utf8},
    {"invalid_text_is_refused_or_repaired", &EncoderChecks::invalid_text_is_refused_or_repaired},
    {"failures_are_described", &EncoderChecks::failures_are_described},
    {"calls_at_once", &EncoderChecks::calls_at_once},
};

}  // namespace
}  // namespace conformance

ConformanceReport check_encoder(std::shared_ptr<ToolResultEncoder> encoder, const EncoderConformanceOptions& options) {
  using namespace conformance;
  ReportBuilder report("encoder");
  EncoderChecks checks(std::move(encoder), options);
  Finding thrown;
  for (const EncoderRule& rule : kEncoderRules) {
    try {
      report.add(rule.name, (checks.*rule.check)());
    } catch (const std::exception& exception) {
      thrown = std::string(exception.what());
      report.add(rule.name, "the encoder threw: " + *thrown);
    } catch (...) {
      thrown = "something that is not a std::exception";
      report.add(rule.name, "the encoder threw " + *thrown);
    }
  }
  if (thrown)
    *thrown = "the encoder threw: " + *thrown + ". Return an error from encode(); encode_failure() must not fail.";
  report.add("throws_nothing", std::move(thrown));
  return report.take();
}

}  // namespace allm
