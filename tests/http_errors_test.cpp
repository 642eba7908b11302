// What errors of every provider say about answers that are not JSON, and about the exchange.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/chat_server.hpp"

namespace allm::http_errors_test {
namespace {

using testing::HttpServer;
using testing::ProviderCase;
using testing::Reply;
using testing::ServedRequest;

class ExchangeErrors : public ::testing::TestWithParam<ProviderCase> {
 protected:
  // The error of a call to a server that always gives this answer.
  Error error_for(int status, std::string_view type, std::string_view body, std::string_view path = "") {
    const HttpServer server([&](const ServedRequest&, Reply& reply) { reply.send(status, type, body); });
    url_ = server.url() + "/base" + std::string(path);
    return testing::error_of(testing::ask(engine_of(GetParam(), server.url(), server.ca_file())));
  }
  const std::string& url() const { return url_; }

 private:
  std::string url_;
};
INSTANTIATE_TEST_SUITE_P(All, ExchangeErrors, ::testing::ValuesIn(testing::provider_cases()), testing::case_name);

void expect_part(const Error& error, std::string_view part) {
  EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
}

constexpr std::string_view kPage =
    "\r\n<!DOCTYPE html>\n<html><head>\n<title>Sign in to the network</title></head>\n<body>secret</body></html>\n";

TEST_P(ExchangeErrors, SayThatAnAnswerIsHtml) {
  for (const std::string_view type : {"text/html", "text/event-stream", "application/json"}) {
    SCOPED_TRACE(type);
    const Error error = error_for(200, type, kPage);
    EXPECT_TRUE(error.is<AdapterError>(AdapterError::Reason::malformed_response)) << error.reason();
    expect_part(error, "HTML instead of JSON: <!DOCTYPE html>");
    expect_part(error, "Sign in to the network");
    EXPECT_EQ(error.message().find("secret"), std::string::npos) << error.message();
  }
  const Error error = error_for(502, "text/html", "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n");
  EXPECT_TRUE(error.is<AdapterError>(AdapterError::Reason::provider_unavailable)) << error.reason();
  expect_part(error, "HTTP 502: the server sent HTML instead of JSON: <html>");
  expect_part(error, "502 Bad Gateway");
}

TEST_P(ExchangeErrors, ShowTheFirstLineOfAnAnswerInText) {
  const std::string text =
      "  upstream connect error: " + std::string(GetParam().key) + " " + std::string(500, 'x') + "  \nsecond line\n";
  for (const int status : {200, 503}) {
    const Error error = error_for(status, "text/plain", text);
    expect_part(error, "text instead of JSON: upstream connect error: [REDACTED] xxx");
    EXPECT_EQ(error.message().find("second line"), std::string::npos) << error.message();
    EXPECT_LT(error.message().size(), 400U);
  }
}

TEST_P(ExchangeErrors, ShowTheMessageBesideTheError) {
  expect_part(error_for(400, "application/json", R"({"error":"Bad Request","message":"model is required"})"),
              "Bad Request: model is required");
  expect_part(error_for(400, "application/json", R"({"error":{"code":7},"message":"no such route"})"), "no such route");
}

TEST_P(ExchangeErrors, NameProviderStatusAndUrl) {
  const std::string_view target = GetParam().target;
  const std::string_view path = target.substr(0, target.find('?'));
  const Error refused = error_for(429, "application/json", R"({"error":{"message":"slow down"}})", path);
  const auto* adapter = refused.get_if<AdapterError>();
  ASSERT_NE(adapter, nullptr);
  EXPECT_EQ(refused.metadata().value("provider", ""), adapter->provider.value_or("none"));
  EXPECT_EQ(refused.metadata().value("http_status", 0), 429);
  EXPECT_EQ(refused.metadata().value("url", ""), url());
  const Error broken = error_for(200, "text/event-stream", "data: }\n\n", path);
  EXPECT_TRUE(broken.is<StreamError>(StreamError::Reason::malformed_event)) << broken.message();
  EXPECT_EQ(broken.metadata().value("provider", ""), adapter->provider.value_or("none"));
  EXPECT_EQ(broken.metadata().value("http_status", 0), 200);
  EXPECT_EQ(broken.metadata().value("url", ""), url());
}

TEST_P(ExchangeErrors, NameTheUrlOfAServerThatDoesNotAnswer) {
  const HttpServer server([](const ServedRequest&, Reply& reply) { reply.cut(); });
  const Error error = testing::error_of(testing::ask(engine_of(GetParam(), server.url(), server.ca_file())));
  EXPECT_TRUE(error.is<AdapterError>(AdapterError::Reason::network_error)) << error.reason();
  EXPECT_TRUE(error.metadata().value("url", "").starts_with(server.url() + "/base/")) << error.metadata();
  EXPECT_FALSE(error.metadata().contains("http_status"));
}

}  // namespace
}  // namespace allm::http_errors_test
