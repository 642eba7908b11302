#include "allm/demo.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/conformance.hpp"
#include "allm/providers.hpp"

namespace allm::demo_test {
namespace {

Json text_property(const std::string& description = "") {
  return description.empty() ? Json{{"type", "string"}} : Json{{"type", "string"}, {"description", description}};
}

Json object_schema(Json properties, std::vector<std::string> required) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", required}};
}

// Answers with its arguments.
Tool echo_tool(std::string name, std::string description, Json schema) {
  return {.name = std::move(name),
          .description = std::move(description),
          .schema = std::move(schema),
          .handler = [](const Json& arguments) { return ok(arguments); }};
}

Tool weather() {
  return echo_tool(
      "get_weather", "The weather of a city.",
      object_schema({{"city", text_property("Name of the city.")}, {"unit", {{"enum", {"celsius", "fahrenheit"}}}}},
                    {"city"}));
}
Tool clock_tool() { return echo_tool("current_time", "The time of day.", object_schema(Json::object(), {})); }
Tool add() {
  return echo_tool("add", "Adds two numbers.",
                   object_schema({{"a", {{"type", "integer"}}}, {"b", {{"type", "integer"}}}}, {"a", "b"}));
}
Tool calculator() {
  return echo_tool("calculator", "Computes.", object_schema({{"expression", text_property()}}, {"expression"}));
}
Tool read_file() {
  return echo_tool("read_file", "Reads a file.", object_schema({{"path", text_property()}}, {"path"}));
}
Tool write_file() {
  return echo_tool("write_file", "Writes a file.",
                   object_schema({{"path", text_property()}, {"content", text_property()}}, {"path", "content"}));
}

Engine engine_with(std::vector<Tool> tools) { return Engine({.adapter = demo(), .tools = std::move(tools)}); }

// The calls that the demo model makes for one message: "name {arguments}".
std::vector<std::string> calls_for(const std::string& text, std::vector<Tool> tools) {
  const Engine engine = engine_with(std::move(tools));
  const Result<StepResult> result = step(engine, Thread{user(text)});
  EXPECT_TRUE(result.has_value());
  std::vector<std::string> calls;
  for (const ToolCall& call : result->response.tool_calls) calls.push_back(call.name + " " + call.arguments.dump());
  return calls;
}

std::string answer_for(const std::string& text, std::vector<Tool> tools) {
  const Engine engine = engine_with(std::move(tools));
  return chat(engine, Thread{user(text)}).value().text();
}

using Calls = std::vector<std::string>;

TEST(Demo, SaysWhatItIsAndWhichToolsItHas) {
  const std::string text = answer_for("Hello!", {weather()});
  EXPECT_NE(text.find("demo model"), std::string::npos) << text;
  EXPECT_NE(text.find("`get_weather`: The weather of a city."), std::string::npos) << text;
}

TEST(Demo, CallsTheToolWhoseWordsFit) {
  const std::vector<Tool> tools = {weather(), clock_tool(), add(), calculator(), read_file(), write_file()};
  EXPECT_EQ(calls_for("What's the weather in Oslo?", tools), Calls{R"(get_weather {"city":"Oslo"})"});
  EXPECT_EQ(calls_for("what time is it", tools), Calls{"current_time {}"});
  EXPECT_EQ(calls_for("Please add 2 and 40", tools), Calls{R"(add {"a":2,"b":40})"});
  EXPECT_EQ(calls_for("How much is 2 * (3 + 4)?", tools), Calls{R"x(calculator {"expression":"2 * (3 + 4)"})x"});
  EXPECT_EQ(calls_for("read the file notes/a.txt", tools), Calls{R"(read_file {"path":"notes/a.txt"})"});
  EXPECT_EQ(calls_for("Tell me a joke", tools), Calls{});
}

TEST(Demo, CallsSeveralToolsAtOnce) {
  const std::vector<Tool> tools = {weather(), clock_tool(), add()};
  EXPECT_EQ(calls_for("The weather in Oslo, Rome and New York, please", tools),
            (Calls{R"(get_weather {"city":"Oslo"})", R"(get_weather {"city":"Rome"})",
                   R"(get_weather {"city":"New York"})"}));
  EXPECT_EQ(calls_for("What is the weather in Oslo and what time is it?", tools),
            (Calls{R"(get_weather {"city":"Oslo"})", "current_time {}"}));
}

TEST(Demo, TakesArgumentsByTheirSchema) {
  EXPECT_EQ(calls_for("weather in Oslo in fahrenheit", {weather()}),
            Calls{R"(get_weather {"city":"Oslo","unit":"fahrenheit"})"});
  EXPECT_EQ(calls_for("weather city: new delhi", {weather()}), Calls{R"(get_weather {"city":"new delhi"})"});
  EXPECT_EQ(calls_for("weather in \"Rio de Janeiro\"", {weather()}), Calls{R"(get_weather {"city":"Rio de Janeiro"})"});
  const Tool few = echo_tool(
      "roll_dice", "Rolls dice.",
      object_schema({{"count", {{"type", "integer"}, {"minimum", 1}, {"maximum", 9}}}, {"loud", {{"type", "boolean"}}}},
                    {"count"}));
  EXPECT_EQ(calls_for("roll 100 dice, or 5, not loud", {few}), Calls{R"(roll_dice {"count":5,"loud":false})"});
}

TEST(Demo, AsksForAMissingArgumentAndTakesTheAnswer) {
  const Engine engine = engine_with({weather()});
  const ChatResult asked = chat(engine, Thread{user("How is the weather?")}).value();
  EXPECT_EQ(asked.text(), "To call `get_weather` I need `city` (Name of the city). What should it be?");
  Thread thread = asked.thread;
  thread.messages.push_back(user("lima"));
  const ChatResult answered = chat(engine, thread).value();
  ASSERT_EQ(answered.steps.size(), 2U);
  EXPECT_EQ(answered.steps[0].response.tool_calls.at(0).arguments, (Json{{"city", "lima"}}));
}

TEST(Demo, AsksForOneArgumentAfterTheOther) {
  const Engine engine = engine_with({write_file()});
  Thread thread{user("write file")};
  for (const char* answer : {"a.txt", "Hello there"}) {
    const ChatResult asked = chat(engine, thread).value();
    EXPECT_TRUE(asked.steps.at(0).response.tool_calls.empty());
    thread = asked.thread;
    thread.messages.push_back(user(answer));
  }
  const ChatResult done = chat(engine, thread).value();
  EXPECT_EQ(done.steps.at(0).response.tool_calls.at(0).arguments,
            (Json{{"path", "a.txt"}, {"content", "Hello there"}}));
}

TEST(Demo, AnswersFromTheResults) {
  Tool failing = weather();
  failing.handler = [](const Json& arguments) {
    return arguments["city"] == "Rome" ? failure("no such city") : ok({{"celsius", 4}, {"sky", "clear"}});
  };
  EXPECT_EQ(answer_for("weather in Oslo and Rome", {failing}),
            "`get_weather` (city: Oslo):\n\n- **celsius**: 4\n- **sky**: clear\n\n`get_weather` (city: Rome) failed: "
            "no such city\n");
}

TEST(Demo, AnAnswerToAToolsQuestionIsUsed) {
  Tool asks = weather();
  asks.handler = [](const Json&) { return ask_user("Which country?"); };
  const Engine engine = engine_with({asks});
  const ChatResult asked = chat(engine, Thread{user("weather in Paris")}).value();
  ASSERT_NE(asked.pending_question(), nullptr);
  Thread thread = asked.thread;
  thread.messages.push_back(user("France"));
  EXPECT_EQ(chat(engine, thread).value().text(), "You answered `get_weather`: France\n");
}

TEST(Demo, KeepsToTheToolChoice) {
  const Engine engine = engine_with({add(), weather()});
  const auto first_calls = [&](ToolChoice choice) {
    return step(engine, Request{.messages = {user("weather in Oslo")}, .tool_choice = std::move(choice)})
        .value()
        .response.tool_calls;
  };
  EXPECT_TRUE(first_calls(ToolChoice::none()).empty());
  ASSERT_EQ(first_calls(ToolChoice::tool("add")).size(), 1U);
  EXPECT_EQ(first_calls(ToolChoice::tool("add"))[0].arguments, (Json{{"a", 0}, {"b", 0}}));
  EXPECT_EQ(first_calls(ToolChoice::required()).at(0).name, "get_weather");
}

TEST(Demo, AnswersInTheFormatThatIsAskedFor) {
  const Json schema = object_schema({{"city", text_property()},
                                     {"days", {{"type", "integer"}}},
                                     {"tags", {{"type", "array"}, {"items", {{"type", "string"}}}}}},
                                    {"city", "days"});
  const Engine engine = engine_with({});
  const Result<Response> response = generate(
      engine, {.messages = {user("Oslo in 3 days")}, .response_format = ResponseFormat::json_schema("plan", schema)});
  const Json answer = Json::parse(response.value().text().value());
  EXPECT_EQ(answer["days"], 3);
  EXPECT_TRUE(answer["city"].is_string());
  EXPECT_TRUE(answer["tags"].is_array());
}

TEST(Demo, StreamsWordsWithReasoningAndUsage) {
  const Engine engine = engine_with({weather()});
  std::vector<std::string> deltas;
  std::string reasoning;
  std::optional<Usage> usage;
  for (const Event& event : stream(engine, Thread{user("weather in Oslo")})) {
    if (const auto* delta = event.get_if<TextDelta>()) deltas.push_back(delta->delta);
    if (const auto* thought = event.get_if<ReasoningCompleted>()) reasoning += thought->text;
    if (const auto* completed = event.get_if<MessageCompleted>()) usage = completed->usage;
  }
  EXPECT_GT(deltas.size(), 2U);
  EXPECT_EQ(reasoning, "Words of the message fit `get_weather`.");
  ASSERT_TRUE(usage.has_value());
  EXPECT_GT(usage->total_tokens.value_or(0), 0);
}

TEST(Demo, CountsForTestsOfLongAnswers) {
  EXPECT_EQ(answer_for("count to 3", {}), "1\n2\n3");
  EXPECT_NE(answer_for("show me markdown", {}).find("```cpp"), std::string::npos);
}

TEST(Demo, IsAnEngineByName) {
  for (const char* name : {"demo", "demo:demo"}) {
    const Result<Engine> engine = engine_for(name, {.tools = {clock_tool()}});
    ASSERT_TRUE(engine.has_value()) << engine.error().message();
    EXPECT_NE(chat(*engine, Thread{user("what time is it?")}).value().text().find("current_time"), std::string::npos);
  }
}

TEST(Demo, HostileSchemasAndTextsGiveAnAnswer) {
  Json loop = Json::object();
  loop["type"] = "object";
  loop["properties"]["child"] = {{"$ref", "#"}, {"type", "object"}, {"properties", {{"child", {{"type", "array"}}}}}};
  loop["required"] = {"child", "missing", 7};
  const std::string noise = "get weather \"' ` ( 1e999 99999999999999999999 -- .. / \xC3\xA9 `";
  for (const Json& schema :
       {loop, Json{{"properties", 3}}, Json{{"type", {"string", "null"}}}, Json{{"required", "x"}}, Json("text")}) {
    Request request{.messages = {user(noise)}, .tools = {Tool{.name = "get_weather", .schema = schema}}};
    const auto adapter = demo();
    auto source = adapter->open({.request = request, .runtime = Runtime::process()});
    ASSERT_TRUE(source.has_value());
    EventStream events(*std::move(source));
    bool completed = false;
    while (Poll event = events.next()) completed = completed || (*event).get_if<MessageCompleted>() != nullptr;
    EXPECT_TRUE(completed);
  }
}

TEST(Demo, KeepsThePromisesOfAdapters) {
  const ConformanceReport report = check_adapter(
      [] { return demo(); }, {.tool_request = Request{.messages = {user("weather in Oslo")}, .tools = {weather()}}});
  EXPECT_TRUE(report.passed()) << report.summary();
}

}  // namespace
}  // namespace allm::demo_test
