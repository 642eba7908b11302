// The precedence of options: call, request, the engine's params, default.
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"

#include "engine/run.hpp"

namespace allm::options_test {
namespace {

using std::chrono::milliseconds;

std::vector<std::string> fields_of(const Error& error) {
  std::vector<std::string> names;
  if (const auto* validation = error.get_if<ValidationError>()) {
    for (const FieldError& field : validation->errors) names.push_back(to_string(field.path) + ":" + field.reason);
  }
  return names;
}

Run resolved(const Json& params, CallOptions options) {
  const Result<std::shared_ptr<const Run>> run = resolve_run(Engine({.params = params}), std::move(options));
  EXPECT_TRUE(run.has_value()) << run.error().message();
  return **run;
}

TEST(LoopOptions, HaveTheirDefaults) {
  const allm::Run run = resolved(Json::object(), {});
  EXPECT_EQ(run.mode, Mode::automatic);
  EXPECT_EQ(run.max_turns, 8);
  EXPECT_EQ(run.tool_timeout, milliseconds(30'000));
  EXPECT_FALSE(run.max_concurrency.has_value());
  EXPECT_EQ(std::get<ToolErrorAction>(run.on_tool_error), ToolErrorAction::tell_model);
  EXPECT_EQ(run.on_unknown_tool, OnUnknownTool::error);
  EXPECT_FALSE(run.structured_finalize);
  EXPECT_EQ(resolved(Json::object(), {.structured_finalize = true}).nudge,
            "Give your final answer now, in the requested format.");
  EXPECT_EQ(*run.context, Json::object());
  EXPECT_EQ(run.request_id.size(), 22U);
  EXPECT_FALSE(run.options.session_id.has_value());
}

const Json kParams = Json::parse(R"({"mode":"manual","max_turns":3,"tool_timeout_ms":50,"max_concurrency":2,
  "on_tool_error":"halt","on_unknown_tool":"report","structured_finalize":true,"structured_finalize_nudge":"now",
  "context":{"from":"params"},"session_id":"ps","request_id":"pr","model":"pm"})");

TEST(LoopOptions, ComeFromTheEnginesParams) {
  const allm::Run run = resolved(kParams, {});
  EXPECT_EQ(run.mode, Mode::manual);
  EXPECT_EQ(run.max_turns, 3);
  EXPECT_EQ(run.tool_timeout, milliseconds(50));
  EXPECT_EQ(run.max_concurrency, 2);
  EXPECT_EQ(std::get<ToolErrorAction>(run.on_tool_error), ToolErrorAction::halt);
  EXPECT_EQ(run.on_unknown_tool, OnUnknownTool::report);
  EXPECT_TRUE(run.structured_finalize);
  EXPECT_EQ(run.nudge, "now");
  EXPECT_EQ(*run.context, Json({{"from", "params"}}));
  EXPECT_EQ(run.options.session_id, "ps");
  EXPECT_EQ(run.request_id, "pr");
  EXPECT_EQ(*run.model_name(), "pm");
}

TEST(LoopOptions, OfTheCallTakePrecedenceOverTheParams) {
  const allm::Run run = resolved(kParams, {.model = "cm",
                                           .mode = Mode::automatic,
                                           .max_turns = 5,
                                           .structured_finalize = true,
                                           .structured_finalize_nudge = "",
                                           .tool_timeout = milliseconds(60),
                                           .max_concurrency = 7,
                                           .on_tool_error = ToolErrorAction::tell_model,
                                           .on_unknown_tool = OnUnknownTool::error,
                                           .context = Json({{"from", "call"}}),
                                           .session_id = "cs",
                                           .request_id = "cr"});
  EXPECT_EQ(run.mode, Mode::automatic);
  EXPECT_EQ(run.max_turns, 5);
  EXPECT_EQ(run.tool_timeout, milliseconds(60));
  EXPECT_EQ(run.max_concurrency, 7);
  EXPECT_EQ(std::get<ToolErrorAction>(run.on_tool_error), ToolErrorAction::tell_model);
  EXPECT_EQ(run.on_unknown_tool, OnUnknownTool::error);
  EXPECT_EQ(run.nudge, "");
  EXPECT_FALSE(resolved(kParams, {.structured_finalize = false}).structured_finalize);
  EXPECT_EQ(*run.context, Json({{"from", "call"}}));
  EXPECT_EQ(run.options.session_id, "cs");
  EXPECT_EQ(run.request_id, "cr");
  EXPECT_EQ(*run.model_name(), "cm");
}

TEST(LoopOptions, NullInTheParamsCountsAsAbsent) {
  const allm::Run run = resolved({{"max_turns", nullptr}, {"mode", nullptr}, {"temperature", nullptr}}, {});
  EXPECT_EQ(run.max_turns, 8);
  EXPECT_EQ(run.mode, Mode::automatic);
}

TEST(LoopOptions, FiltersInTheParamsAreIgnored) {
  const allm::Run run =
      resolved({{"emit_text_deltas", false}, {"emit_tool_deltas", "x"}, {"include_raw_chunks", true}}, {});
  EXPECT_EQ(run.options.emit_text_deltas, std::nullopt);
  EXPECT_EQ(run.options.emit_tool_deltas, std::nullopt);
  EXPECT_EQ(run.options.include_raw_chunks, std::nullopt);
}

TEST(LoopOptions, ThatAreWrongAreAllNamed) {
  const auto run = resolve_run(Engine({.params = {{"mode", "sideways"}, {"max_concurrency", "two"}}}),
                               {.params = Json::array(),
                                .max_turns = 0,
                                .run_timeout = milliseconds(0),
                                .tool_timeout = milliseconds(-1),
                                .max_concurrency = -3,
                                .on_tool_error = OnToolError(ToolErrorFunction()),
                                .context = Json("text")});
  ASSERT_FALSE(run.has_value());
  EXPECT_TRUE(run.error().is<ValidationError>(ValidationError::Reason::invalid_option));
  EXPECT_EQ(fields_of(run.error()),
            (std::vector<std::string>{"params:invalid_value", "mode:invalid_value", "max_concurrency:invalid_value",
                                      "max_turns:invalid_value", "tool_timeout:invalid_value",
                                      "run_timeout:invalid_value", "max_concurrency:invalid_value",
                                      "on_tool_error:invalid_value", "context:invalid_value"}));
}

TEST(LoopOptions, LimitsAreCheckedAndTheCallsTakePrecedence) {
  for (const double cost : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    const auto run = resolve_run(
        Engine(), {.max_total_tokens = 0, .max_cost = cost, .max_tool_calls = -1, .max_repeated_failures = 0});
    ASSERT_FALSE(run.has_value()) << cost;
    EXPECT_EQ(fields_of(run.error()),
              (std::vector<std::string>{"max_total_tokens:invalid_value", "max_cost:invalid_value",
                                        "max_tool_calls:invalid_value", "max_repeated_failures:invalid_value"}));
  }
  const allm::Run run =
      resolved({{"max_total_tokens", 1}, {"max_cost", 2}, {"max_tool_calls", 3}, {"max_repeated_failures", 4}},
               {.max_total_tokens = 5, .max_repeated_failures = 6});
  EXPECT_EQ(run.limits.max_total_tokens, 5);
  EXPECT_EQ(run.limits.max_cost, 2.0);
  EXPECT_EQ(run.limits.max_tool_calls, 3);
  EXPECT_EQ(run.limits.max_repeated_failures, 6);
  EXPECT_NE(run.ledger, nullptr);
  EXPECT_EQ(resolved(Json::object(), {}).ledger, nullptr);
  EXPECT_EQ(resolved(Json::object(), {}).cancel, nullptr);
}

TEST(LoopOptions, OfTheWrongTypeInTheParamsFailEveryCall) {
  for (const Json& params :
       {Json({{"max_turns", 1.5}}), Json({{"max_turns", "8"}}), Json({{"tool_timeout_ms", true}}),
        Json({{"on_tool_error", 1}}), Json({{"on_unknown_tool", "ignore"}}), Json({{"structured_finalize", "yes"}}),
        Json({{"structured_finalize_nudge", 1}}), Json({{"session_id", 1}}), Json({{"request_id", 1}}),
        Json({{"context", "x"}}), Json({{"model", 1}}), Json({{"mode", true}}), Json::array()}) {
    const Engine engine({.adapter = fake({{fake_text("hi")}}), .params = params});
    const auto result = chat(engine, {user("hi")});
    ASSERT_FALSE(result.has_value()) << params;
    EXPECT_TRUE(result.error().is<ValidationError>(ValidationError::Reason::invalid_option)) << params;
    EXPECT_EQ(fields_of(result.error()).size(), 1U) << params;
  }
}

// The only call that the adapter received.
AdapterCall called(EngineOptions engine_options, Request request, const CallOptions& options) {
  const auto adapter = fake({{fake_text("hi"), fake_finish(FinishReason::stop)}}, {.record = true});
  engine_options.adapter = adapter;
  request.messages = {user("hi")};
  const auto response = generate(Engine(std::move(engine_options)), std::move(request), options);
  EXPECT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(adapter->calls(), 1U);
  return adapter->requests().at(0);
}

TEST(RequestOptions, ResolveCallOverRequestOverParams) {
  const Json params = Json::parse(R"({"temperature":0.1,"max_tokens":1,"tool_choice":"none","model":"pm",
    "response_format":"text","prompt_cache":{"key":"pk","retention":"long"}})");
  const Request empty;
  const Request asked{.model = "rm",
                      .temperature = 0.2,
                      .max_tokens = 2,
                      .response_format = ResponseFormat::json_object(),
                      .tool_choice = ToolChoice::required(),
                      .prompt_cache = PromptCache{.key = "rk"}};
  const CallOptions none;
  const CallOptions all{.model = "cm",
                        .temperature = 0.3,
                        .max_tokens = 3,
                        .response_format = ResponseFormat::from_json({{"type", "own"}}),
                        .tool_choice = ToolChoice::tool("t"),
                        .prompt_cache = PromptCache{.key = "ck"}};

  const AdapterCall from_params = called({.model = "em", .params = params}, empty, none);
  EXPECT_EQ(from_params.request.temperature, 0.1);
  EXPECT_EQ(from_params.request.max_tokens, 1);
  EXPECT_EQ(from_params.request.tool_choice, ToolChoice::none());
  EXPECT_EQ(from_params.request.response_format, ResponseFormat::text());
  EXPECT_EQ(from_params.request.prompt_cache->key, "pk");
  EXPECT_EQ(from_params.model->id, "pm");

  const AdapterCall from_request = called({.model = "em", .params = params}, asked, none);
  EXPECT_EQ(from_request.request.temperature, 0.2);
  EXPECT_EQ(from_request.request.max_tokens, 2);
  EXPECT_EQ(from_request.request.tool_choice, ToolChoice::required());
  EXPECT_EQ(from_request.request.response_format, ResponseFormat::json_object());
  EXPECT_EQ(from_request.request.prompt_cache->key, "rk");
  EXPECT_EQ(from_request.model->id, "rm");

  const AdapterCall from_call = called({.model = "em", .params = params}, asked, all);
  EXPECT_EQ(from_call.request.temperature, 0.3);
  EXPECT_EQ(from_call.request.max_tokens, 3);
  EXPECT_EQ(from_call.request.tool_choice, ToolChoice::tool("t"));
  EXPECT_EQ(from_call.request.response_format, ResponseFormat::from_json({{"type", "own"}}));
  EXPECT_EQ(from_call.request.prompt_cache->key, "ck");
  EXPECT_EQ(from_call.model->id, "cm");

  const AdapterCall from_nowhere = called({}, empty, none);
  EXPECT_FALSE(from_nowhere.request.temperature.has_value());
  EXPECT_FALSE(from_nowhere.request.prompt_cache.has_value());
  EXPECT_FALSE(from_nowhere.model.has_value());
  EXPECT_EQ(called({.model = "em"}, empty, none).model->id, "em");
}

TEST(RequestOptions, StreamIsTrueUnlessACallARequestOrTheEngineSaysNo) {
  const auto streams = [](EngineOptions engine, const Request& request, const CallOptions& options) {
    return called(std::move(engine), request, options).request.stream;
  };
  const Request whole = {.stream = false};
  EXPECT_TRUE(streams({}, {}, {}));
  EXPECT_FALSE(streams({}, whole, {}));
  EXPECT_FALSE(streams({}, {}, {.stream = false}));
  EXPECT_FALSE(streams({.defaults = {.stream = false}}, {}, {}));
  EXPECT_FALSE(streams({.params = {{"stream", false}}}, {}, {}));
  EXPECT_TRUE(streams({.defaults = {.stream = false}}, whole, {.stream = true}));
  EXPECT_FALSE(streams({.defaults = {.stream = true}}, whole, {}));
}

TEST(RequestOptions, OfTheProviderReachTheAdapter) {
  const Request request = {.options = {{"top_p", 0.2}, {"seed", 1}}};
  const AdapterCall call = called(
      {.params = {{"top_p", 0.1}, {"top_k", 5}, {"reasoning_effort", "high"}, {"api_key", "secret"}, {"max_turns", 3}}},
      request,
      {.params = {{"top_p", 0.3}, {"request_timeout", 5}, {"api_key", "secret"}},
       .session_id = "s",
       .request_id = "r"});
  EXPECT_EQ(call.request.options, Json({{"top_p", 0.3}, {"top_k", 5}, {"seed", 1}}));
  EXPECT_EQ(call.options.at("reasoning_effort"), "high") << "for the adapter alone";
  EXPECT_EQ(call.options.at("request_timeout"), 5);
  EXPECT_FALSE(call.options.contains("max_turns"));
  EXPECT_FALSE(call.options.contains("api_key")) << "a call never carries keys";
  EXPECT_EQ(call.session_id, "s");
  EXPECT_EQ(call.request_id, "r");
  EXPECT_EQ(call.runtime, Runtime::process());
}

TEST(RequestOptions, PromptCacheUsesTheSessionIdAsItsKey) {
  EXPECT_EQ(called({}, {}, {.prompt_cache = PromptCache{}, .session_id = "s"}).request.prompt_cache->key, "s");
  EXPECT_EQ(called({}, {}, {.prompt_cache = PromptCache{.key = "k"}, .session_id = "s"}).request.prompt_cache->key,
            "k");
  EXPECT_FALSE(called({}, {}, {.session_id = "s"}).request.prompt_cache.has_value());
}

TEST(RequestOptions, OfTheWrongTypeInTheParamsAreReportedForTheRequest) {
  const Engine engine(
      {.adapter = fake({{fake_text("hi")}}),
       .params = {
           {"temperature", "hot"}, {"max_tokens", 1.5}, {"response_format", 3}, {"prompt_cache", {{"key", ""}}}}});
  const auto response = generate(engine, {.messages = {user("hi")}});
  ASSERT_FALSE(response.has_value());
  EXPECT_TRUE(response.error().is<ValidationError>(ValidationError::Reason::invalid_request));
  EXPECT_EQ(fields_of(response.error()),
            (std::vector<std::string>{"temperature:out_of_range", "max_tokens:must_be_positive",
                                      "response_format:invalid_shape", "prompt_cache:invalid_shape"}));
}

TEST(RequestOptions, ToolsWithABrokenSchemaAreNamedBeforeTheModelCall) {
  const auto adapter = fake({{fake_text("hi")}});
  const Engine engine({.adapter = adapter, .tools = {{.name = "fine"}, {.name = "broken", .schema = {{"type", 7}}}}});
  const auto result = chat(engine, {user("hi")});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(fields_of(result.error()), std::vector<std::string>{"tools[1].schema:invalid_schema"});
  EXPECT_EQ(adapter->calls(), 0U);
  const Engine unchecked(
      {.adapter = adapter, .tools = {{.name = "broken", .schema = {{"type", 7}}, .validate_arguments = false}}});
  EXPECT_TRUE(chat(unchecked, {user("hi")}).has_value());
}

TEST(OptionsFromJson, ReadEveryOptionByItsName) {
  const auto options = call_options_from_json(Json::parse(R"({"model":"m","temperature":0.5,"max_tokens":9,
    "response_format":{"type":"json_object"},"tool_choice":"auto","prompt_cache":true,"mode":"manual","max_turns":2,
    "structured_finalize":true,"structured_finalize_nudge":"n","tool_timeout_ms":7,"run_timeout_ms":8,
    "max_total_tokens":11,"max_cost":0.25,"max_tool_calls":12,"max_repeated_failures":13,"strict_limits":true,"shrink_max_tokens_to":14,
    "max_concurrency":3,"on_tool_error":"continue","on_unknown_tool":"report","stream":false,"emit_text_deltas":false,"emit_tool_deltas":false,
    "include_raw_chunks":true,"context":{"a":1},"session_id":"s","request_id":"r"})"));
  ASSERT_TRUE(options.has_value()) << options.error().message();
  EXPECT_EQ(options->model->id, "m");
  EXPECT_EQ(options->temperature, 0.5);
  EXPECT_EQ(options->max_tokens, 9);
  EXPECT_EQ(options->response_format, ResponseFormat::json_object());
  EXPECT_EQ(options->tool_choice, ToolChoice::automatic());
  EXPECT_EQ(options->prompt_cache, PromptCache{});
  EXPECT_EQ(options->stream, false);
  EXPECT_EQ(options->mode, Mode::manual);
  EXPECT_EQ(options->max_turns, 2);
  EXPECT_EQ(options->structured_finalize, true);
  EXPECT_EQ(options->structured_finalize_nudge, "n");
  EXPECT_EQ(options->tool_timeout, milliseconds(7));
  EXPECT_EQ(options->run_timeout, milliseconds(8));
  EXPECT_EQ(options->max_total_tokens, 11);
  EXPECT_EQ(options->max_cost, 0.25);
  EXPECT_EQ(options->max_tool_calls, 12);
  EXPECT_EQ(options->max_repeated_failures, 13);
  EXPECT_EQ(options->strict_limits, true);
  EXPECT_EQ(options->shrink_max_tokens_to, 14);
  EXPECT_EQ(options->max_concurrency, 3);
  EXPECT_EQ(std::get<ToolErrorAction>(*options->on_tool_error), ToolErrorAction::tell_model);
  EXPECT_EQ(options->on_unknown_tool, OnUnknownTool::report);
  EXPECT_EQ(options->emit_text_deltas, false);
  EXPECT_EQ(options->emit_tool_deltas, false);
  EXPECT_EQ(options->include_raw_chunks, true);
  EXPECT_EQ(options->context, Json({{"a", 1}}));
  EXPECT_EQ(options->session_id, "s");
  EXPECT_EQ(options->request_id, "r");
}

TEST(OptionsFromJson, NameEverythingThatIsWrong) {
  EXPECT_TRUE(call_options_from_json(nullptr).has_value());
  EXPECT_FALSE(call_options_from_json(Json::array()).has_value());
  const auto options = call_options_from_json(
      {{"max_turns", "x"}, {"maxturns", 1}, {"temperature", "hot"}, {"emit_text_deltas", 1}, {"mode", nullptr}});
  ASSERT_FALSE(options.has_value());
  EXPECT_TRUE(options.error().is<ValidationError>(ValidationError::Reason::invalid_option));
  EXPECT_EQ(fields_of(options.error()),
            (std::vector<std::string>{"max_turns:invalid_value", "maxturns:unknown_option",
                                      "emit_text_deltas:invalid_value", "temperature:invalid_value"}));
  EXPECT_FALSE(call_options_from_json({{"unheard_of", nullptr}}).has_value()) << "null is still a name";
}

}  // namespace
}  // namespace allm::options_test
