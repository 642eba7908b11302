#include "bench/http/workloads.hpp"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "bench/http/answers.hpp"

namespace allm::bench {

void give_up(const std::string& message) {
  fmt::print(stderr, "{}\n", message);
  std::exit(1);
}

Engine engine_at(const std::string& url, const std::string& ca_file, std::vector<Tool> tools,
                 std::shared_ptr<Runtime> runtime) {
  HttpOptions http;
  http.ca_file = ca_file;
  return Engine({.adapter = openai({.base_url = url,
                                    .endpoint = OpenAiOptions::Endpoint::chat,
                                    .api_key = ApiKey("sk-bench"),
                                    .http = std::move(http)}),
                 .model = "gpt-4.1",
                 .tools = std::move(tools),
                 .retry = RetryPolicy::off(),
                 .runtime = std::move(runtime)});
}

std::vector<BareRequest> requests_of(const std::string& path, std::vector<Tool> tools,
                                     const std::function<void(const Engine&)>& use) {
  std::vector<BareRequest> requests;
  const testing::HttpServer server(
      [&](const testing::ServedRequest& request, testing::Reply& reply) {
        BareRequest& kept = requests.emplace_back(BareRequest{.body = request.body});
        for (const auto& [name, value] : request.headers) {
          if (name != "host" && name != "content-length") kept.headers.emplace_back(name, value);
        }
        answer(request, reply);
      },
      {.tls = false});
  use(engine_at(server.url() + path, "", std::move(tools), Runtime::create()));
  return requests;
}

}  // namespace allm::bench
