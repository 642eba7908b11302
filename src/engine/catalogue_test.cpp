// The catalogue: capabilities that a request needs, and costs of calls.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"

namespace allm::catalogue_test {
namespace {

ModelRef model(const std::string& id, Json capabilities, Json pricing = nullptr) {
  ModelRef ref(id);
  ref.capabilities = std::move(capabilities);
  ref.pricing = std::move(pricing);
  return ref;
}

std::shared_ptr<const Catalogue> catalogue() {
  return std::make_shared<const Catalogue>(std::vector<ModelRef>{
      model("plain", {{"tools", false}, {"json_native", false}, {"vision", false}}),
      model("able", {{"tools", true}}, {{"input", 2.0}, {"output", 10.0}}),
      model("half", nullptr, {{"input", 2.0}}),
      model("caching", nullptr, {{"input", 2.0}, {"cached_input", 0.5}, {"output", 8.0}}),
      model("writing", nullptr,
            {{"input", 2.0}, {"cached_input", 0.5}, {"cache_write", 3.0}, {"cache_write_1h", 4.0}, {"output", 8.0}}),
  });
}

Engine engine_for(const std::string& id, Usage usage = {}) {
  return Engine({.adapter = fake({{fake_text("hi"), fake_usage(std::move(usage)), fake_finish(FinishReason::stop)}}),
                 .model = ModelRef(id),
                 .catalogue = catalogue()});
}

TEST(Capabilities, AreReadInBothShapes) {
  const ModelRef plain = model("m", {{"tools", false}, {"json_native", true}});
  EXPECT_EQ(plain.capability("tools"), false);
  EXPECT_EQ(plain.capability("json_native"), true);
  EXPECT_EQ(plain.capability("vision"), std::nullopt);
  const ModelRef grouped = model("m", {{"tools", {{"enabled", false}}}, {"json", {{"native", true}}}, {"vision", {}}});
  EXPECT_EQ(grouped.capability("tools"), false);
  EXPECT_EQ(grouped.capability("json_native"), true);
  EXPECT_EQ(grouped.capability("vision"), std::nullopt);
  EXPECT_EQ(ModelRef("m").capability("tools"), std::nullopt);
}

Result<ChatResult> chat_with_tool(const ModelRef& own, std::shared_ptr<const Catalogue> known) {
  const Engine engine({.adapter = fake({{fake_text("hi"), fake_finish(FinishReason::stop)}}),
                       .model = own,
                       .tools = {Tool{.name = "t"}},
                       .catalogue = std::move(known)});
  return chat(engine, {user("hi")});
}

TEST(Capabilities, OfTheEnginesOwnModelAreChecked) {
  const Json without_tools = {{"tools", {{"enabled", false}}}};
  const Json with_tools = {{"tools", {{"enabled", true}}}};
  const Result<ChatResult> refused = chat_with_tool(model("unlisted", without_tools), nullptr);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is<ValidationError>(ValidationError::Reason::unsupported_capability));
  EXPECT_FALSE(chat_with_tool(model("able", without_tools), catalogue()).has_value());
  EXPECT_FALSE(chat_with_tool(ModelRef("plain"), catalogue()).has_value());
  // They take precedence over those of the catalogue.
  EXPECT_TRUE(chat_with_tool(model("plain", with_tools), catalogue()).has_value());
}

Catalogue selectable() {
  ModelRef small = model("small", {{"tools", true}});
  small.provider = "a";
  small.limits = {{"context_tokens", 1000}};
  ModelRef large = model("large", {{"tools", {{"enabled", true}}}, {"vision", true}});
  large.provider = "b";
  large.limits = {{"context_tokens", 100000}, {"output_tokens", 500}};
  ModelRef mute = model("mute", {{"tools", false}});
  mute.provider = "c";
  return Catalogue({mute, small, large});
}

TEST(Select, ReturnsTheFirstModelThatMeetsTheRequirements) {
  const Catalogue known = selectable();
  EXPECT_EQ(known.select({})->id, "mute");
  EXPECT_EQ(known.select({.require = {.capabilities = {"tools"}}})->id, "small");
  EXPECT_EQ(known.select({.require = {.context_tokens = 1001}})->id, "large");
  EXPECT_EQ(known.select({.require = {.providers = {"b", "a"}}})->id, "large");
}

TEST(Select, PrefersModelsThatMeetMorePreferences) {
  const Catalogue known = selectable();
  EXPECT_EQ(known.select({.require = {.capabilities = {"tools"}}, .prefer = {.capabilities = {"vision"}}})->id,
            "large");
  EXPECT_EQ(known.select({.require = {.capabilities = {"tools"}}, .prefer = {.output_tokens = 100}})->id, "large");
  EXPECT_EQ(known.select({.prefer = {.providers = {"b", "a"}}})->id, "large");
  EXPECT_EQ(known.select({.prefer = {.capabilities = {"telepathy"}}})->id, "mute");
}

TEST(Select, NamesTheRequirementsThatNoModelMeets) {
  const Result<ModelRef> none = selectable().select({.require = {.capabilities = {"vision"}, .providers = {"a"}}});
  ASSERT_FALSE(none.has_value());
  EXPECT_TRUE(none.error().is<EngineError>(EngineError::Reason::missing_model));
  EXPECT_EQ(none.error().message(), "no model of the catalogue has all of: vision, provider a");
  EXPECT_TRUE(Catalogue().select({}).error().is<EngineError>(EngineError::Reason::catalog_not_loaded));
}

const Message kPicture = user(std::vector<Part>{ImagePart{.image = {.source = ImageUrl{"https://x/y.png"}}}});

std::vector<std::string> lacking(const Result<ChatResult>& result) {
  std::vector<std::string> reasons;
  if (result) return reasons;
  EXPECT_TRUE(result.error().is<ValidationError>(ValidationError::Reason::unsupported_capability));
  for (const FieldError& error : result.error().get_if<ValidationError>()->errors) {
    reasons.push_back(to_string(error.path) + ":" + error.reason);
  }
  return reasons;
}

TEST(Capabilities, ThatAModelLacksAreAllNamedBeforeTheModelCall) {
  const Engine engine = engine_for("plain").with_tools({{.name = "t"}});
  const CallOptions options{.response_format = ResponseFormat::json_schema("a", {{"type", "object"}})};
  EXPECT_EQ(lacking(chat(engine, {kPicture}, options)),
            (std::vector<std::string>{"tools:tools_disabled", "response_format:json_native_disabled",
                                      "vision:vision_disabled"}));
}

TEST(Capabilities, AreAssumedUnlessTheCatalogueDeniesThem) {
  const CallOptions options{.response_format = ResponseFormat::json_schema("a", {{"type", "object"}})};
  for (const char* id : {"able", "half", "unheard_of"}) {
    EXPECT_TRUE(lacking(chat(engine_for(id).with_tools({{.name = "t"}}), {kPicture}, options)).empty()) << id;
  }
  EXPECT_TRUE(
      lacking(chat(engine_for("plain"), {user("hi")}, {.response_format = ResponseFormat::json_object()})).empty());
}

TEST(Capabilities, AreThoseOfTheModelThatIsCalled) {
  const Engine engine = engine_for("able").with_tools({{.name = "t"}});
  EXPECT_EQ(lacking(chat(engine, {user("hi")}, {.model = "plain"})).size(), 1U);
}

Usage usage_of(const std::string& id, Usage reported) {
  const auto response = generate(engine_for(id, std::move(reported)), {.messages = {user("hi")}});
  EXPECT_TRUE(response.has_value());
  return response->usage;
}

TEST(Costs, AreFilledInFromThePrices) {
  const Usage usage = usage_of("able", {.input_tokens = 1'000'000, .output_tokens = 500'000});
  EXPECT_DOUBLE_EQ(usage.input_cost.value(), 2.0);
  EXPECT_DOUBLE_EQ(usage.output_cost.value(), 5.0);
  EXPECT_DOUBLE_EQ(usage.total_cost.value(), 7.0);
}

TEST(Costs, ThatTheProviderReportsAreKept) {
  const Usage usage = usage_of("able", {.input_tokens = 1'000'000, .output_tokens = 1, .input_cost = 1.5});
  EXPECT_DOUBLE_EQ(usage.input_cost.value(), 1.5);
}

TEST(Costs, WithoutAPriceOrACountAreUnset) {
  const Usage half = usage_of("half", {.input_tokens = 1'000'000, .output_tokens = 1});
  EXPECT_DOUBLE_EQ(half.input_cost.value(), 2.0);
  EXPECT_FALSE(half.output_cost.has_value());
  EXPECT_FALSE(half.total_cost.has_value());
  EXPECT_FALSE(usage_of("able", {.output_tokens = 1}).input_cost.has_value());
  EXPECT_FALSE(usage_of("unheard_of", {.input_tokens = 1}).input_cost.has_value());
}

double input_cost(const std::string& id, Usage reported) {
  return usage_of(id, std::move(reported)).input_cost.value_or(-1);
}

TEST(Costs, OfCachedTokensHaveTheirOwnPrice) {
  const Usage usage =
      usage_of("caching", {.input_tokens = 1'000'000, .output_tokens = 250'000, .cached_input_tokens = 750'000});
  EXPECT_EQ(usage.input_cost, 0.875);
  EXPECT_EQ(usage.output_cost, 2.0);
  EXPECT_EQ(usage.total_cost, 2.875);
  EXPECT_EQ(input_cost("caching", {.input_tokens = 1'000'000}), 2.0);
  EXPECT_EQ(input_cost("caching", {.input_tokens = 1'000'000, .cached_input_tokens = 1'000'000}), 0.5);
}

TEST(Costs, OfCachedTokensUseTheInputPriceWithoutAPriceOfTheirOwn) {
  EXPECT_EQ(input_cost("able", {.input_tokens = 1'000'000, .cached_input_tokens = 750'000}), 2.0);
  EXPECT_EQ(input_cost("caching", {.input_tokens = 1'000'000, .cache_write_input_tokens = 500'000}), 2.0);
}

TEST(Costs, CountNoMoreCachedTokensThanThereWere) {
  EXPECT_EQ(input_cost("caching", {.input_tokens = 1'000'000, .cached_input_tokens = 5'000'000}), 0.5);
  EXPECT_EQ(input_cost("caching", {.input_tokens = 1'000'000, .cached_input_tokens = -5}), 2.0);
  EXPECT_EQ(
      input_cost("writing",
                 {.input_tokens = 1'000'000, .cached_input_tokens = 500'000, .cache_write_input_tokens = 2'000'000}),
      1.75);
  EXPECT_FALSE(usage_of("caching", {.cached_input_tokens = 5}).input_cost.has_value());
}

TEST(Costs, OfTokensWrittenToTheCacheHaveTheirOwnPrice) {
  const Usage reported{
      .input_tokens = 2'000'000, .cached_input_tokens = 1'000'000, .cache_write_input_tokens = 500'000};
  EXPECT_EQ(input_cost("writing", reported), 0.5 + 1.5 + 1.0);

  Usage hour = reported;
  hour.extra = {{"ephemeral_5m_input_tokens", 250'000}, {"ephemeral_1h_input_tokens", 250'000}};
  EXPECT_EQ(input_cost("writing", hour), 0.5 + 1.0 + 0.75 + 1.0);
  hour.extra = {{"ephemeral_1h_input_tokens", 9'000'000}};
  EXPECT_EQ(input_cost("writing", hour), 0.5 + 2.0 + 1.0);
  hour.extra = {{"ephemeral_1h_input_tokens", "many"}};
  EXPECT_EQ(input_cost("writing", hour), 0.5 + 1.5 + 1.0);
}

TEST(Costs, OfASnapshotUseThePricesOfItsFamily) {
  EXPECT_EQ(input_cost("able-2025-04-14", {.input_tokens = 1'000'000}), 2.0);
}

TEST(Costs, AreSummedOverARun) {
  const FakeCallScript turn = {fake_tool_call("c0", "t"), fake_usage({.input_tokens = 1'000'000}),
                               fake_finish(FinishReason::tool_calls)};
  const FakeCallScript answer = {fake_text("hi"), fake_usage({.input_tokens = 500'000, .output_tokens = 100'000}),
                                 fake_finish(FinishReason::stop)};
  const Engine engine({.adapter = fake({turn, answer}),
                       .model = ModelRef("able"),
                       .tools = {{.name = "t", .handler = [](const Json&) { return ok(1); }}},
                       .catalogue = catalogue()});
  const auto result = chat(engine, {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->usage.input_tokens, 1'500'000);
  EXPECT_DOUBLE_EQ(result->usage.input_cost.value(), 3.0);
  EXPECT_DOUBLE_EQ(result->usage.output_cost.value(), 1.0);
  EXPECT_EQ(result->steps[0].response.usage.input_tokens, 1'000'000);
}

}  // namespace
}  // namespace allm::catalogue_test
