// A long prompt that is part of every request: from the second request on, the provider reads it from its cache.
//
// The requests of a conversation begin with the same bytes; `prompt_cache` asks the provider to cache them. The
// scripted model reports the usage that a provider would report.
#include <cmath>
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

// The first request writes 2,000 tokens to the cache, the second one reads them from it.
allm::FakeScript script() {
  return {
      {allm::fake_text("It is covered for two years."),
       allm::fake_usage({.input_tokens = 2'100, .output_tokens = 10, .cache_write_input_tokens = 2'000}),
       allm::fake_finish(allm::FinishReason::stop)},
      {allm::fake_text("Send it to the address in section 4."),
       allm::fake_usage({.input_tokens = 2'150, .output_tokens = 12, .cached_input_tokens = 2'000}),
       allm::fake_finish(allm::FinishReason::stop)},
  };
}

// [caching-costs]
void print_costs(const allm::Usage& usage) {
  // Both are a part of input_tokens. No value: the provider did not report it.
  const auto cached = usage.cached_input_tokens.value_or(0);
  const auto written = usage.cache_write_input_tokens.value_or(0);
  std::cout << usage.input_tokens.value_or(0) << " input tokens, " << cached << " read from the cache, " << written
            << " written to it; cost " << usage.total_cost.value_or(0) << '\n';
}
// [/caching-costs]

}  // namespace

int main() {
  // [caching-prices]
  allm::ModelRef model("demo");
  model.pricing = {{"input", 3.0}, {"cached_input", 0.3}, {"cache_write", 3.75}, {"output", 15.0}};
  // [/caching-prices]
  const auto adapter = allm::fake(script(), {.record = true});

  // [caching-engine]
  const allm::Engine engine({
      .adapter = adapter,
      .model = model,
      .params = {{"prompt_cache", true}},  // for every call; or CallOptions::prompt_cache for one
      .catalogue = std::make_shared<const allm::Catalogue>(std::vector{model}),
  });
  allm::Session session{.id = "customer-17"};  // the key of the cache, unless PromptCache::key has another
  session.thread.messages.push_back(allm::system("The manual of the device: …"));
  // [/caching-engine]

  const allm::Result<allm::SessionTurn> first = allm::session_reply(engine, session, "Is it still covered?");
  if (!first) return fail(first.error().message());
  print_costs(first->result.usage);
  const allm::Result<allm::SessionTurn> second = allm::session_reply(engine, first->session, "Where do I send it?");
  if (!second) return fail(second.error().message());
  print_costs(second->result.usage);

  // The second request begins with the messages of the first.
  const std::vector<allm::AdapterCall> sent = adapter->requests();
  for (std::size_t i = 0; i < sent[0].request.messages.size(); ++i) {
    if (sent[1].request.messages[i] != sent[0].request.messages[i]) return fail("the beginning stays the same");
  }
  if (sent[1].request.prompt_cache->key != "customer-17") return fail("the session's id is the key");
  // 150 tokens at 3, 2,000 at 0.3 and 12 of output at 15 a million.
  const double cost = second->result.usage.total_cost.value_or(0);
  return std::abs(cost - 0.00123) < 1e-9 ? 0 : fail("the price of cached tokens");
}
