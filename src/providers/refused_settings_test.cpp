// Settings that models refuse: by the catalogue, and by the error of a server.
#include "providers/refused_settings.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/model.hpp"

#include "providers/anthropic/anthropic.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/openai/openai.hpp"
#include "providers/openai/presets.hpp"

namespace allm::refused_settings_test {
namespace {

using Names = std::vector<std::string>;

// A call with every setting that some model refuses.
AdapterCall call_with_settings(const ModelRef& model) {
  AdapterCall call;
  call.model = ModelRef(model.id);
  call.request.messages = {user("hi")};
  call.request.temperature = 0.5;
  call.options = {{"top_p", 0.9}, {"reasoning_effort", "low"}, {"stop", "x"}};
  if (model.provider == "anthropic") call.options["top_k"] = 3;
  if (model.provider == "gemini") call.options["reasoning_effort"] = "minimal";
  if (model.provider != "anthropic" && model.provider != "gemini") {
    call.options.update({{"presence_penalty", 0.1},
                         {"frequency_penalty", 0.1},
                         {"logprobs", true},
                         {"top_logprobs", 2},
                         {"logit_bias", {{"50256", -100}}},
                         {"n", 2},
                         {"seed", 7}});
  }
  return call;
}

std::shared_ptr<const Codec> codec_of(const std::string& provider) {
  if (provider == "anthropic") return anthropic_codec({});
  if (provider == "gemini") return gemini_codec({});
  if (provider == "openai") return openai_codec({});
  return openai_codec(options_of(*find_openai_preset(provider)));
}

Json member_at(const Json& body, std::string path) {
  for (char& c : path) c = c == '.' ? '/' : c;
  const Json::json_pointer place("/" + path);
  return body.contains(place) ? body.at(place) : Json();
}

struct Written {
  Json body;
  Names warnings;
};

Written write(AdapterCall call, const std::string& provider) {
  Written written;
  call.warn = [&](const AdapterWarning& warning) { written.warnings.push_back(warning.setting); };
  const Result<HttpRequest> request = codec_of(provider)->write(call, AnswerForm::stream);
  EXPECT_TRUE(request.has_value()) << call.model->id << (request ? "" : request.error().message());
  if (request) written.body = parse_json(request->body).value_or(Json());
  return written;
}

TEST(RefusedSettings, OfEveryModelInTheCatalogueAreNotSent) {
  std::size_t refused = 0;
  for (const ModelRef& model : builtin_catalogue()->models()) {
    const Written written = write(call_with_settings(model), *model.provider);
    EXPECT_EQ(written.body.contains("model") ? written.body["model"] : Json(model.id), model.id);
    if (!model.refuses.is_object()) {
      EXPECT_EQ(written.warnings, Names{}) << model.id;
      continue;
    }
    for (const auto& [path, rule] : model.refuses.items()) {
      if (rule.contains("instead") || path == "stop") continue;
      EXPECT_TRUE(member_at(written.body, path).is_null()) << model.id << ": " << path << " in " << written.body;
      ++refused;
    }
    EXPECT_FALSE(written.warnings.empty()) << model.id;
  }
  EXPECT_GT(refused, 100U);
}

TEST(RefusedSettings, AreReportedUnlessTheirValueIsTheDefault) {
  AdapterCall call;
  call.model = "claude-opus-4-7";
  call.request.messages = {user("hi")};
  call.request.temperature = 1.0;
  call.options = {{"top_p", 0.9}};
  const Written written = write(call, "anthropic");
  EXPECT_FALSE(written.body.contains("temperature"));
  EXPECT_FALSE(written.body.contains("top_p"));
  EXPECT_EQ(written.warnings, Names{"top_p"});
}

TEST(RefusedSettings, MayBeAcceptedTogetherWithOthers) {
  AdapterCall call;
  call.request.messages = {user("hi")};
  call.request.temperature = 0.5;
  const auto temperature = [&](const char* model, Json effort) {
    call.model = model;
    call.options = {{"reasoning_effort", std::move(effort)}};
    return write(call, "openai").body.contains("temperature");
  };
  EXPECT_TRUE(temperature("gpt-5.2", nullptr)) << "the default effort of this model is none";
  EXPECT_TRUE(temperature("gpt-5.2", "none"));
  EXPECT_FALSE(temperature("gpt-5.2", "low"));
  EXPECT_FALSE(temperature("gpt-5.5", nullptr));
  EXPECT_TRUE(temperature("gpt-5.5", "none"));
  EXPECT_FALSE(temperature("gpt-5", nullptr));

  call.model = "claude-sonnet-4-5";
  call.options = {{"top_p", 0.9}};
  EXPECT_EQ(write(call, "anthropic").warnings, Names{"top_p"}) << "only one of both";
  call.request.temperature.reset();
  EXPECT_EQ(write(call, "anthropic").body["top_p"], 0.9);
}

TEST(RefusedSettings, MayHaveAReplacement) {
  AdapterCall call;
  call.model = "claude-opus-4-7";
  call.request.messages = {user("hi")};
  call.options = {{"thinking", {{"type", "enabled"}, {"budget_tokens", 2000}}}};
  const Written written = write(call, "anthropic");
  EXPECT_EQ(written.body["thinking"], Json({{"type", "adaptive"}}));
  EXPECT_EQ(written.warnings, Names{"thinking"});
  for (const char* type : {"adaptive", "disabled"}) {
    call.options = {{"thinking", {{"type", type}}}};
    EXPECT_EQ(write(call, "anthropic").body["thinking"], Json({{"type", type}}));
  }
  call.model = "claude-opus-5-5";  // always thinks
  EXPECT_EQ(write(call, "anthropic").body["thinking"], Json({{"type", "adaptive"}}));
}

TEST(RefusedSettings, OfTheCallsModelReplaceThoseOfTheCatalogue) {
  AdapterCall call;
  call.model = "claude-opus-4-7";
  call.model->refuses = {{"temperature", nullptr}, {"service_tier", Json::object()}};
  call.request.messages = {user("hi")};
  call.request.temperature = 0.5;
  call.options = {{"top_k", 3}, {"service_tier", "auto"}};
  const Written written = write(call, "anthropic");
  EXPECT_EQ(written.body["temperature"], 0.5);
  EXPECT_EQ(written.warnings, (Names{"top_k", "service_tier"}));
}

// The catalogue's rule about forced calls is an error, not a warning: the request asks for a call.
TEST(RefusedSettings, AForcedCallIsAnErrorForAModelThatCannotBeForced) {
  AdapterCall call;
  call.model = "claude-opus-5-5";
  call.request.messages = {user("hi")};
  call.request.tools = {{.name = "t"}};
  call.request.tool_choice = ToolChoice::required();
  const Result<HttpRequest> request = anthropic_codec({})->write(call, AnswerForm::stream);
  ASSERT_FALSE(request.has_value());
  EXPECT_TRUE(request.error().is<AdapterError>(AdapterError::Reason::unsupported_feature));
  call.model = "claude-opus-5";
  EXPECT_TRUE(anthropic_codec({})->write(call, AnswerForm::stream).has_value());
}

TEST(RefusedSettings, AJsonAnswerOfAModelThatCannotBeForcedIsNative) {
  AdapterCall call;
  call.model = "claude-opus-5-5";
  call.request.messages = {user("hi")};
  call.request.response_format = ResponseFormat::json_schema("n", {{"type", "object"}});
  const Json body = write(call, "anthropic").body;
  EXPECT_TRUE(body["output_config"].contains("format")) << body;
  EXPECT_FALSE(body.contains("tool_choice"));
}

TEST(RefusedSetting, IsFoundInTheErrorsOfServers) {
  const Json body = {{"model", "m"},
                     {"messages", Json::array()},
                     {"max_tokens", 5},
                     {"temperature", 0.5},
                     {"top_p", 0.9},
                     {"stop", "x"},
                     {"reasoning", {{"effort", "low"}}},
                     {"reasoning_effort", "low"},
                     {"output_config", {{"effort", "low"}}},
                     {"generationConfig", {{"topK", 3}, {"thinkingConfig", {{"thinkingLevel", "low"}}}}}};
  const auto found = [&](std::string_view error) { return refused_setting(body, error).value_or(""); };
  EXPECT_EQ(
      found(R"({"error":{"message":"Unsupported value: 'temperature' does not support 0.5 with this model. Only the )"
            R"(default (1) value is supported.","param":"temperature","code":"unsupported_value"}})"),
      "temperature");
  EXPECT_EQ(found(R"({"type":"error","error":{"message":"`temperature` is deprecated for this model."}})"),
            "temperature");
  EXPECT_EQ(found(R"({"detail":[{"type":"extra_forbidden","loc":["body","top_p"],"msg":"Extra inputs"}]})"), "top_p");
  EXPECT_EQ(found(R"({"error":{"message":"Unsupported parameter: 'stop' is not supported with this model."}})"),
            "stop");
  EXPECT_EQ(found(R"({"error":{"message":"Unsupported parameter: 'reasoning.effort' is not supported"}})"),
            "reasoning.effort");
  EXPECT_EQ(found(R"({"error":{"message":"`reasoning_effort` is not supported with this model"}})"),
            "reasoning_effort");
  EXPECT_EQ(found(R"({"error":{"message":"This model does not support the effort parameter."}})"),
            "output_config.effort");
  EXPECT_EQ(found(R"({"error":{"message":"Thinking level is not supported for this model."}})"),
            "generationConfig.thinkingConfig");
  EXPECT_EQ(found(R"({"error":{"message":"Unknown name \"topK\" at 'generation_config': Cannot find field."}})"),
            "generationConfig.topK");
}

TEST(RefusedSetting, IsNotAValueThatIsWrongOrAPartOfTheQuestion) {
  const Json body = {{"temperature", 9}, {"max_tokens", 5}, {"tools", Json::array()}, {"stop", "x"}};
  const auto found = [&](std::string_view error) { return refused_setting(body, error).value_or(""); };
  EXPECT_EQ(found(R"({"error":{"message":"temperature: Input should be less than or equal to 1"}})"), "");
  EXPECT_EQ(found(R"({"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model."}})"),
            "");
  EXPECT_EQ(found(R"({"error":{"message":"tools are not supported by this model"}})"), "");
  EXPECT_EQ(found(R"({"error":{"message":"this model does not support images; stop sending them"}})"), "");
  EXPECT_EQ(found(R"({"error":{"message":"top_p is not supported"}})"), "") << "it is not in the request";
  EXPECT_EQ(found(""), "");
}

}  // namespace
}  // namespace allm::refused_settings_test
