#include "providers/provider_errors.hpp"

#include <gtest/gtest.h>

#include "data/utf8.hpp"

namespace allm::provider_errors_test {
namespace {

using std::chrono::system_clock;
using Reason = AdapterError::Reason;

constexpr system_clock::time_point kNow = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

ErrorReport report_of(std::string_view body) { return read_error(body); }

std::optional<std::int64_t> retry_after(const char* value) { return retry_after_ms({{"Retry-After", value}}, kNow); }

TEST(ProviderErrors, StatusesHaveReasons) {
  EXPECT_EQ(reason_for_status(400), Reason::invalid_request);
  EXPECT_EQ(reason_for_status(401), Reason::authentication_failed);
  EXPECT_EQ(reason_for_status(402), Reason::unknown);
  EXPECT_EQ(reason_for_status(403), Reason::authentication_failed);
  EXPECT_EQ(reason_for_status(404), Reason::invalid_request);
  EXPECT_EQ(reason_for_status(408), Reason::timeout);
  EXPECT_EQ(reason_for_status(413), Reason::invalid_request);
  EXPECT_EQ(reason_for_status(429), Reason::rate_limited);
  for (const int status : {500, 502, 503, 504, 529}) EXPECT_EQ(reason_for_status(status), Reason::provider_unavailable);
  EXPECT_EQ(reason_for_status(418), Reason::unknown);
}

TEST(ProviderErrors, RetryAfterIsSecondsOrADate) {
  EXPECT_EQ(retry_after("7"), 7000);
  EXPECT_EQ(retry_after(" 0.5 "), 500);
  EXPECT_EQ(retry_after("1.0001"), 1001);
  EXPECT_EQ(retry_after("0"), 0);
  EXPECT_EQ(retry_after("Thu, 01 Jan 2026 00:00:30 GMT"), 30000);
  EXPECT_EQ(retry_after("Wed, 31 Dec 2025 23:59:00 GMT"), 0);
  EXPECT_EQ(retry_after_ms({{"retry-after-ms", "12.5"}, {"retry-after", "9"}}, kNow), 13);
  EXPECT_EQ(retry_after_ms({{"retry-after-ms", "soon"}, {"retry-after", "9"}}, kNow), 9000);
  EXPECT_EQ(retry_after_ms({}, kNow), std::nullopt);
}

TEST(ProviderErrors, AMalformedRetryAfterIsIgnored) {
  for (const char* value : {"-1", "", "soon", "1e3", "1.", ".5", "7s", "99999999999999999999", "1,5", "+3",
                            "Thu, 32 Jan 2026 00:00:30 GMT", "Thu, 01 Foo 2026 00:00:30 GMT", "Thu, 01 Jan 2026"}) {
    EXPECT_EQ(retry_after(value), std::nullopt) << value;
  }
}

TEST(ProviderErrors, TheResponsesDateIsUsedAsNow) {
  EXPECT_EQ(response_time({{"Date", "Thu, 01 Jan 2026 00:00:00 GMT"}}), kNow);
  const HttpResponseHead head{
      429, {{"date", "Thu, 01 Jan 2026 00:00:00 GMT"}, {"retry-after", "Thu, 01 Jan 2026 00:00:09 GMT"}}};
  EXPECT_EQ(facts_from_head("p", head).retry_after_ms, 9000);
}

TEST(ProviderErrors, ProtobufDurationsAreRoundedUp) {
  EXPECT_EQ(duration_ms("31.504200731s"), 31505);
  EXPECT_EQ(duration_ms("2s"), 2000);
  EXPECT_EQ(duration_ms("0.001000000s"), 1);
  for (const char* text : {"", "s", "2", "2m", "-1s", "1.s"}) EXPECT_EQ(duration_ms(text), std::nullopt) << text;
}

TEST(ProviderErrors, TheProvidersRequestIdIsFound) {
  for (const char* name : {"X-Request-Id", "request-id", "x-generation-id", "mistral-correlation-id"}) {
    EXPECT_EQ(provider_request_id({{name, "r1"}}), "r1");
  }
  EXPECT_EQ(provider_request_id({{"x-request-id", ""}}), std::nullopt);
}

TEST(ProviderErrors, BodiesOfAllFormsAreRead) {
  const ErrorReport wrapped =
      report_of(R"({"error":{"message":"m","type":"t","code":"c","param":"p","status":"S","details":[1]}})");
  EXPECT_EQ(wrapped.message, "m");
  EXPECT_EQ(wrapped.type, "t");
  EXPECT_EQ(wrapped.code, "c");
  EXPECT_EQ(wrapped.param, "p");
  EXPECT_EQ(wrapped.status, "S");
  EXPECT_EQ(wrapped.details, Json::array({1}));
  EXPECT_EQ(report_of(R"({"error":{"message":"m","code":429}})").code, "429");
  EXPECT_EQ(report_of(R"({"error":"plain"})").message, "plain");
  EXPECT_EQ(report_of(R"([{"error":{"message":"in a list"}}])").message, "in a list");
  EXPECT_EQ(report_of(R"({"object":"error","message":"bare","code":"3280"})").code, "3280");
  EXPECT_EQ(report_of(R"({"detail":"text"})").message, "text");
  EXPECT_EQ(report_of(R"({"detail":[{"msg":"a"},{"loc":[],"msg":"b"}]})").message, "a; b");
  EXPECT_EQ(report_of(R"({"type":"error","error":{"type":"x","message":"y"},"request_id":"r"})").request_id, "r");
  EXPECT_EQ(report_of(R"({"error":{"message":"m","metadata":{"error_type":"e"}}})").type, "e");
  for (const char* body : {"", "<html>", "null", "[]", "[1,2]", R"({"error":null})", R"({"error":{"message":)"}) {
    EXPECT_TRUE(report_of(body).empty()) << body;
  }
}

TEST(ProviderErrors, AMessageBesideTheErrorIsShown) {
  EXPECT_EQ(report_of(R"({"error":"Bad Request","message":"no model"})").message, "Bad Request: no model");
  EXPECT_EQ(report_of(R"({"error":{"message":"no model"},"message":"Bad Request"})").message, "no model: Bad Request");
  EXPECT_EQ(report_of(R"({"error":{"code":3},"message":"no model"})").message, "no model");
  EXPECT_EQ(report_of(R"({"error":"Not found","message":"not found: m"})").message, "not found: m");
  EXPECT_EQ(report_of(R"({"error":true,"message":"no model"})").message, "no model");
}

TEST(ProviderErrors, LongMessagesAreNotSearchedInEachOther) {
  const std::string message(1U << 20U, 'a');
  const std::string other = std::string(1U << 19U, 'a') + 'b';
  const ErrorReport report = read_error(Json{{"error", {{"message", message}}}, {"message", other}});
  EXPECT_TRUE(report.message == message + ": " + other);
}

TEST(ProviderErrors, ABodyThatIsNotAnErrorIsDescribed) {
  const auto message = [](std::string_view body) {
    return provider_error(facts_from_head("acme", {.status = 502}), read_error(body)).message();
  };
  EXPECT_EQ(message("\n Bad gateway \r\nx"), "acme HTTP 502: the server sent text instead of JSON: Bad gateway");
  EXPECT_EQ(message("<html>\n<TITLE>\n no\n</TITLE>"),
            "acme HTTP 502: the server sent HTML instead of JSON: <html> (no)");
  EXPECT_EQ(message("<title>no</title>"), "acme HTTP 502: the server sent HTML instead of JSON: <title>no</title>");
  EXPECT_EQ(message("<title"), "acme HTTP 502: the server sent HTML instead of JSON: <title");
  EXPECT_EQ(message("<Error>no</Error>"), "acme HTTP 502: the server sent text instead of JSON: <Error>no</Error>");
  EXPECT_EQ(message(R"({"error":{"mess)"), R"(acme HTTP 502: the server sent invalid JSON: {"error":{"mess)");
  EXPECT_EQ(message(R"({"ok":false})"), R"(acme HTTP 502: the server sent {"ok":false})");
  EXPECT_EQ(message(" \r\n"), "acme HTTP 502");
  EXPECT_EQ(message("key sk-secret123").find("sk-secret123"), std::string::npos);
}

TEST(ProviderErrors, MetadataIsAddedAndNotReplaced) {
  const Error error(StreamError{.provider = "p"}, "m", {{"a", 1}}, "cause");
  const Error more = with_metadata(error, {{"a", 2}, {"b", 3}});
  EXPECT_EQ(more.metadata(), Json({{"a", 1}, {"b", 3}}));
  EXPECT_EQ(more.message(), "m");
  EXPECT_EQ(more.reported_cause(), "cause");
  EXPECT_EQ(more.get_if<StreamError>()->provider, "p");
}

TEST(ProviderErrors, AnErrorWithoutAMessageNamesProviderAndStatus) {
  const Error error = provider_error(facts_from_head("acme", {.status = 503}), {});
  EXPECT_EQ(error.message(), "acme HTTP 503");
  EXPECT_EQ(error.get_if<AdapterError>()->status, 503);
  EXPECT_EQ(error.metadata(), Json::object());
}

TEST(ProviderErrors, MetadataIsRedactedAndMarksErrorsThatAreNotRetryable) {
  const Error error = provider_error({.reason = Reason::rate_limited, .provider = "p", .retryable = false},
                                     {.message = "m", .type = "sk-secret123", .code = "c", .param = "q"});
  EXPECT_EQ(error.metadata(), Json({{"code", "c"}, {"type", "[REDACTED]"}, {"param", "q"}, {"retryable", false}}));
  EXPECT_FALSE(facts_from_head("p", {.status = 402}).retryable);
  EXPECT_FALSE(facts_from_head("p", {.status = 429, .headers = {{"x-should-retry", "false"}}}).retryable);
  EXPECT_TRUE(facts_from_head("p", {.status = 429}).retryable);
}

TEST(ProviderErrors, AProvidersTextIsRedactedRepairedAndTruncated) {
  EXPECT_EQ(shown("bad \xFF byte"), "bad \xEF\xBF\xBD byte");
  std::string text(999, 'x');
  text += "€€€";
  const std::string cut = shown(text);
  EXPECT_LE(cut.size(), 1010U);
  EXPECT_TRUE(is_utf8(cut));
  EXPECT_TRUE(cut.ends_with("x…"));
  EXPECT_EQ(malformed_event("p", "no JSON", "{ sk-secret123", 4).message(), "no JSON: { [REDACTED]");
  EXPECT_EQ(malformed_event("p", "no JSON", "", 4).get_if<StreamError>()->event_index, 4);
}

}  // namespace
}  // namespace allm::provider_errors_test
