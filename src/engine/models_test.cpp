// The built-in catalogue: src/engine/models.json.
#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/model.hpp"

#include "engine/models_json.hpp"

namespace allm::models_test {
namespace {

ModelRef model(const char* provider, const char* id) {
  ModelRef ref(id);
  ref.provider = provider;
  return ref;
}

TEST(BuiltInModels, AreThoseOfTheFile) {
  const Result<Catalogue> parsed = catalogue_from_json(models_json());
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message();
  EXPECT_GT(parsed->models().size(), 50U);
  EXPECT_EQ(builtin_catalogue()->models(), parsed->models());
  EXPECT_EQ(builtin_catalogue(), builtin_catalogue());
}

TEST(BuiltInModels, HaveTheDateOfTheirPrices) {
  const Result<Json> file = parse_json(models_json());
  ASSERT_TRUE(file.has_value());
  EXPECT_TRUE((*file)["prices_as_of"].is_string());
}

TEST(BuiltInModels, HaveNamesAndAreSortedByThem) {
  const ModelRef* last = nullptr;
  for (const ModelRef& known : builtin_catalogue()->models()) {
    ASSERT_TRUE(known.provider.has_value()) << known.id;
    EXPECT_FALSE(known.provider->empty()) << known.id;
    EXPECT_FALSE(known.id.empty());
    if (last != nullptr) {
      EXPECT_LT(std::tie(*last->provider, last->id), std::tie(*known.provider, known.id));
    }
    last = &known;
  }
}

// A misspelt name would be kept as an unknown field and have no effect.
TEST(BuiltInModels, HaveNoUnknownFields) {
  const auto only = [](const Json& object, const std::vector<std::string>& names) {
    for (const auto& [name, value] : object.items()) {
      if (std::ranges::find(names, name) == names.end() || value.is_null()) return false;
    }
    return true;
  };
  for (const ModelRef& known : builtin_catalogue()->models()) {
    EXPECT_TRUE(only(known.capabilities, {"tools", "json_native", "vision", "reasoning", "forced_tools"})) << known.id;
    EXPECT_TRUE(only(known.limits, {"context_tokens", "output_tokens"})) << known.id;
    EXPECT_TRUE(only(known.pricing, {"input", "cached_input", "cache_write", "cache_write_1h", "output"})) << known.id;
    EXPECT_TRUE(known.unknown_fields.is_null()) << known.id;
    EXPECT_TRUE(only(known.metadata, {"source", "as_of", "unconfirmed"})) << known.id;
  }
}

// A figure that nobody can check is worth little.
TEST(BuiltInModels, SayWhereTheirFiguresComeFrom) {
  const auto is_date = [](const Json& text) {
    static const std::string kForm = "dddd-dd-dd";
    return text.is_string() && text.get<std::string>().size() == kForm.size() &&
           std::ranges::equal(text.get<std::string>(), kForm,
                              [](char c, char form) { return form == 'd' ? c >= '0' && c <= '9' : c == form; });
  };
  for (const ModelRef& known : builtin_catalogue()->models()) {
    EXPECT_TRUE(known.metadata.value("source", Json()).is_string()) << known.id;
    EXPECT_TRUE(is_date(known.metadata.value("as_of", Json()))) << known.id;
    // A figure that is not confirmed is missing, or it is named.
    for (const Json& name : known.metadata.value("unconfirmed", Json::array())) {
      const std::string group = name.get<std::string>().substr(0, name.get<std::string>().find('.'));
      EXPECT_TRUE(group == "capabilities" || group == "limits" || group == "pricing" || group == "refuses") << known.id;
    }
  }
  const Json families = parse_json(models_json()).value_or(Json()).value("families", Json());
  EXPECT_FALSE(families.empty());
  for (const auto& [name, family] : families.items()) {
    EXPECT_TRUE(family["source"].is_string() && is_date(family["as_of"])) << name;
  }
}

// Cached input is cheaper than input; output and writing to the cache cost more.
TEST(BuiltInModels, HavePlausiblePrices) {
  for (const ModelRef& known : builtin_catalogue()->models()) {
    if (!known.pricing.is_object()) continue;
    const double input = known.pricing.at("input");
    EXPECT_LT(input, known.pricing.at("output").get<double>()) << known.id;
    EXPECT_LT(known.pricing.value("cached_input", 0.0), input) << known.id;
    EXPECT_GT(known.pricing.value("cache_write", input * 1.25), input) << known.id;
    EXPECT_EQ(known.pricing.value("cache_write_1h", input * 2), input * 2) << known.id;
  }
}

TEST(BuiltInModels, AreFoundByNameSnapshotAndAlias) {
  const Catalogue& catalogue = *builtin_catalogue();
  const ModelRef* mini = catalogue.find(model("openai", "gpt-4.1-mini"));
  ASSERT_NE(mini, nullptr);
  EXPECT_EQ(mini->pricing, Json({{"input", 0.4}, {"cached_input", 0.1}, {"output", 1.6}}));
  EXPECT_EQ(mini->limits, Json({{"context_tokens", 1047576}, {"output_tokens", 32768}}));
  EXPECT_EQ(catalogue.find(model("openai", "gpt-4.1-mini-2025-04-14")), mini);
  EXPECT_EQ(catalogue.find("gpt-4.1-mini"), mini);

  const ModelRef* sonnet = catalogue.find(model("anthropic", "claude-sonnet-4-5"));
  ASSERT_NE(sonnet, nullptr);
  EXPECT_EQ(catalogue.find(model("anthropic", "claude-sonnet-4-5-20250929")), sonnet);
  EXPECT_EQ(catalogue.find(model("anthropic", "claude-sonnet-4-5@20250929")), sonnet);
  EXPECT_NE(catalogue.find(model("anthropic", "claude-3-5-haiku-latest")), nullptr);
  EXPECT_NE(catalogue.find(model("mistral", "mistral-large-latest")), nullptr);

  EXPECT_EQ(catalogue.find(model("openai", "gpt-4o-2024-05-13"))->pricing["input"], 5);
  EXPECT_EQ(catalogue.find(model("openai", "gpt-4o-2024-11-20"))->pricing["input"], 2.5);
  EXPECT_EQ(catalogue.find(model("azure", "gpt-4.1-mini")), nullptr);
  EXPECT_EQ(catalogue.find(model("openai", "gpt-4.1-mini-fine-tuned")), nullptr);
}

TEST(BuiltInModels, AreSelectedByRequirements) {
  // [models-select]
  const allm::Result<allm::ModelRef> model = allm::builtin_catalogue()->select({
      .require = {.capabilities = {"tools", "vision"}, .context_tokens = 500'000},
      .prefer = {.capabilities = {"json_native"}, .providers = {"openai", "gemini"}},
  });
  // [/models-select]
  ASSERT_TRUE(model.has_value()) << model.error().message();
  EXPECT_EQ(model->provider, "openai");
  EXPECT_EQ(model->capability("json_native"), true);
  EXPECT_GE(model->limits.at("context_tokens").get<int>(), 500'000);
}

TEST(BuiltInModels, CanBeOverriddenForAnEngine) {
  const std::shared_ptr<Adapter> adapter = fake({});
  // [models-override]
  allm::ModelRef local("qwen3:8b");
  local.provider = "ollama";
  local.capabilities = {{"vision", false}};
  local.pricing = {{"input", 0}, {"output", 0}};
  auto catalogue =
      std::make_shared<const allm::Catalogue>(allm::builtin_catalogue()->overridden_by(allm::Catalogue({local})));
  const allm::Engine engine({.adapter = adapter, .model = local, .catalogue = catalogue});
  // [/models-override]
  const Message picture = user(std::vector<Part>{ImagePart{.image = {.source = ImageUrl{"https://x/y.png"}}}});
  const Result<ChatResult> result = chat(engine, {picture});
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is<ValidationError>(ValidationError::Reason::unsupported_capability));
  EXPECT_NE(catalogue->find("gpt-4.1-mini"), nullptr);
}

}  // namespace
}  // namespace allm::models_test
