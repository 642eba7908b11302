// The code of docs/tools.md and docs/typed-tools.md. scripts/check_snippets.py compares the regions with the documents.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

// [typed-enum]
enum class Unit { celsius, fahrenheit };

inline allm::EnumValues<Unit> describe(allm::TypeTag<Unit>) {
  return {{Unit::celsius, "celsius"}, {Unit::fahrenheit, "fahrenheit", "for users in the US"}};
}
// [/typed-enum]

// [typed-struct]
struct Forecast {
  std::string city;
  std::optional<int> days;
  Unit unit = Unit::celsius;
  std::vector<std::string> details;

  static allm::Fields<Forecast> describe() {
    return {
        allm::field("city", &Forecast::city, "Name of the city."),
        allm::field("days", &Forecast::days, "How many days; all that are known if left out.").minimum(1).maximum(14),
        allm::field("unit", &Forecast::unit).defaulted(),
        allm::field("details", &Forecast::details).max_items(3).default_value({"temperature"}),
    };
  }
};
// [/typed-struct]

// [typed-nested]
struct Stop {
  std::string station;
  std::uint8_t platform = 0;
  static allm::Fields<Stop> describe() {
    return {allm::field("station", &Stop::station), allm::field("platform", &Stop::platform)};
  }
};

struct Journey {
  Stop from;
  std::vector<Stop> via;
  std::map<std::string, double> fares;  // by class
  allm::Json extra;                     // any other JSON
  static allm::Fields<Journey> describe() {
    return {allm::field("from", &Journey::from), allm::field("via", &Journey::via),
            allm::field("fares", &Journey::fares), allm::field("extra", &Journey::extra).defaulted()};
  }
};
// [/typed-nested]

// [typed-free]
namespace geometry {  // of another library
struct Point {
  double x = 0;
  double y = 0;
};
}  // namespace geometry

namespace geometry {
inline allm::Fields<Point> describe(allm::TypeTag<Point>) {
  return {allm::field("x", &Point::x), allm::field("y", &Point::y)};
}
}  // namespace geometry
// [/typed-free]

namespace docs_tools_test {
namespace {

using namespace std::chrono_literals;

// An engine whose model calls one tool and then says "done".
allm::Engine engine_calling(allm::Tool tool, allm::Json arguments = allm::Json::object()) {
  const std::string name = tool.name;
  return allm::Engine({.adapter = allm::fake({{allm::fake_tool_call("c1", name, std::move(arguments)),
                                               allm::fake_finish(allm::FinishReason::tool_calls)},
                                              {allm::fake_text("done"), allm::fake_finish(allm::FinishReason::stop)}}),
                       .tools = {std::move(tool)}});
}

// The text of the last tool message.
std::string answer_in(const allm::Thread& thread) {
  std::string answer;
  for (const allm::Message& message : thread.messages) {
    if (message.role == allm::Role::tool) answer = message.text();
  }
  return answer;
}

// The result that the model gets when it calls the tool.
std::string result_for_model(allm::Tool tool, allm::Json arguments = allm::Json::object()) {
  const auto result = allm::chat(engine_calling(std::move(tool), std::move(arguments)), {allm::user("go")});
  return result.has_value() ? answer_in(result->thread) : result.error().message();
}

TEST(DocsTools, Declare) {
  // [tools-declare]
  auto weather = allm::tool({
      .name = "weather",
      .description = "Current weather of a city.",
      .schema = {{"type", "object"},
                 {"properties", {{"city", {{"type", "string"}}}}},
                 {"required", allm::Json::array({"city"})}},
      .handler = [](const allm::Json& arguments) { return allm::ok({{"city", arguments["city"]}, {"celsius", 21}}); },
  });
  // [/tools-declare]
  const auto adapter = allm::fake(
      {{allm::fake_tool_call("c1", "weather", {{"city", "Rome"}}), allm::fake_finish(allm::FinishReason::tool_calls)},
       {allm::fake_text("Mild."), allm::fake_finish(allm::FinishReason::stop)}});
  // [tools-run]
  allm::Engine engine({.adapter = adapter, .tools = {weather}});
  allm::Result<allm::ChatResult> result = allm::chat(engine, {allm::user("How is the weather in Rome?")});
  std::string answer = result ? result->text() : result.error().message();
  // [/tools-run]
  EXPECT_EQ(answer, "Mild.");
  EXPECT_EQ(answer_in(result->thread), R"({"city":"Rome","celsius":21})");
}

TEST(DocsTools, Outcomes) {
  // [tools-outcomes]
  auto book = [](const allm::Json& arguments) -> allm::ToolOutcome {
    const int seats = arguments["seats"];
    if (seats < 1) return allm::failure("seats must be at least 1");
    if (seats > 8) return allm::ask_user("That is a large group. Book " + std::to_string(seats) + " seats?");
    if (seats == 7) return allm::halt("needs_approval", {{"seats", seats}});
    return allm::ok({{"booked", seats}});
  };
  // [/tools-outcomes]
  EXPECT_EQ(book({{"seats", 2}}), allm::ok({{"booked", 2}}));
  EXPECT_EQ(book({{"seats", 0}}), allm::failure("seats must be at least 1"));
  EXPECT_TRUE(std::holds_alternative<allm::AskUser>(book({{"seats", 9}})));
  EXPECT_EQ(book({{"seats", 7}}), allm::halt("needs_approval", {{"seats", 7}}));
}

TEST(DocsTools, Context) {
  // [tools-context]
  auto whoami = allm::tool({
      .name = "whoami",
      .description = "The user that is signed in.",
      .handler =
          [](const allm::Json&, const allm::ToolContext& context) {
            return allm::ok({{"user", context.context().value("user", "nobody")}, {"call", context.tool_call().id}});
          },
  });
  // [/tools-context]
  const allm::Engine engine = engine_calling(whoami);
  // [tools-context-pass]
  auto result = allm::chat(engine, {allm::user("Who am I?")}, {.context = allm::Json{{"user", "ada"}}});
  // [/tools-context-pass]
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(answer_in(result->thread), R"({"user":"ada","call":"c1"})");
}

TEST(DocsTools, Progress) {
  // [tools-progress]
  auto load = allm::tool({
      .name = "load",
      .handler =
          [](const allm::Json&, const allm::ToolContext& context) {
            for (int percent = 50; percent <= 100; percent += 50) context.report_progress({{"percent", percent}});
            return allm::ok("loaded");
          },
  });
  allm::CallOptions options = {.on_tool_progress = [](const allm::ToolCall& call, const allm::Json& progress) {
    EXPECT_EQ(call.name, "load");
    EXPECT_TRUE(progress["percent"].is_number());
  }};
  // [/tools-progress]
  EXPECT_TRUE(allm::chat(engine_calling(load), {allm::user("go")}, options).has_value());
}

TEST(DocsTools, Late) {
  // Calls back from another thread.
  struct Inbox {
    static void when_ready(std::function<void(std::string)> callback) {
      std::thread([callback = std::move(callback)] { callback("hello"); }).detach();
    }
  };
  auto inbox = std::make_shared<Inbox>();
  // [tools-late]
  auto wait_for_mail = allm::tool({
      .name = "wait_for_mail",
      .handler =
          [inbox](const allm::Json&, allm::ToolCompletion done) {
            inbox->when_ready([done](std::string mail) { done(allm::ok(std::move(mail))); });
          },
  });
  // [/tools-late]
  EXPECT_EQ(result_for_model(wait_for_mail), "hello");
}

TEST(DocsTools, ArgumentsAreChecked) {
  bool ran = false;
  auto handler = [&ran](const allm::Json&) {
    ran = true;
    return allm::ok("deleted");
  };
  // [tools-unchecked]
  auto remove = allm::tool({
      .name = "remove",
      .schema = {{"type", "object"}, {"properties", {{"id", {{"type", "integer"}}}}}},
      .handler = handler,
      .validate_arguments = false,  // the handler sees whatever object the model sends
  });
  // [/tools-unchecked]
  EXPECT_EQ(result_for_model(remove, {{"id", "x"}}), "deleted");
  ran = false;
  remove.validate_arguments = true;
  const allm::Json answer = allm::Json::parse(result_for_model(remove, {{"id", "x"}}));
  EXPECT_EQ(answer["reason"], "invalid_arguments");
  EXPECT_NE(answer["error"].get<std::string>().find("id"), std::string::npos);
  EXPECT_FALSE(ran);
}

TEST(DocsTools, Deadlines) {
  // [tools-deadline]
  auto crawl = allm::tool({
      .name = "crawl",
      .handler =
          [](const allm::Json&, const allm::ToolContext& context) {
            std::mutex mutex;
            std::condition_variable_any changed;
            std::unique_lock lock(mutex);
            // Returns at once at the call's deadline, or when the run is dropped.
            changed.wait(lock, context.stop_token(), [] { return false; });
            return allm::failure("stopped");
          },
      .timeout = 20ms,
  });
  // [/tools-deadline]
  const allm::Json answer = allm::Json::parse(result_for_model(crawl));
  EXPECT_EQ(answer["reason"], "timeout");

  // [tools-runtime]
  auto runtime = allm::Runtime::create({.max_threads = 64, .max_set_aside = 16});
  allm::Engine engine({.tools = {crawl}, .runtime = runtime});
  std::size_t overdue = runtime->stats().set_aside;
  // [/tools-runtime]
  EXPECT_EQ(overdue, 0U);
}

TEST(DocsTools, Errors) {
  auto flaky = allm::tool({.name = "flaky", .handler = [](const allm::Json&) { return allm::failure("no luck"); }});
  // [tools-errors]
  allm::ToolErrorFunction decide = [](const allm::ToolCall& call, const allm::ToolFailure& failure) {
    if (call.name == "flaky" && failure.reported()) {
      return allm::ToolErrorDecision::continue_with({{"note", "not available today"}});
    }
    return allm::ToolErrorDecision::halt();
  };
  allm::CallOptions options = {.on_tool_error = decide};
  // [/tools-errors]
  const auto result = allm::chat(engine_calling(flaky), {allm::user("go")}, options);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(answer_in(result->thread), R"({"note":"not available today"})");
  EXPECT_EQ(result_for_model(flaky), R"({"error":"no luck"})");
}

TEST(DocsTools, HaltPolicy) {
  auto broken = allm::tool({.name = "broken", .handler = [](const allm::Json&) { return allm::failure("no"); }});
  const allm::Engine engine = engine_calling(broken);
  // [tools-errors-halt]
  auto result = allm::chat(engine, {allm::user("go")}, {.on_tool_error = allm::ToolErrorAction::halt});
  // result->halted_reason() == "tool_error", std::get<allm::ended::ToolError>(result->end).tool_call_id == "c1"
  // [/tools-errors-halt]
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->halted_reason(), "tool_error");
  EXPECT_EQ(std::get<allm::ended::ToolError>(result->end).tool_call_id, "c1");
}

TEST(DocsTools, WholeLoopManual) {
  auto deploy = allm::tool({.name = "deploy", .handler = [](const allm::Json&) { return allm::ok("never run"); }});
  const allm::Engine engine = engine_calling(deploy, {{"to", "production"}});
  // [tools-manual]
  auto first = allm::chat(engine, {allm::user("Ship it.")}, {.mode = allm::Mode::manual});
  if (!first) return;  // first.error() says why
  allm::Thread thread = first->thread;
  for (const allm::ToolCall& call : first->final_response->tool_calls) {
    thread.messages.push_back(allm::tool_result(call.id, "deployed by hand"));
  }
  auto second = allm::chat(engine, thread, {.mode = allm::Mode::manual});
  // [/tools-manual]
  EXPECT_EQ(first->halted_reason(), "manual_tool_calls");
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->halted_reason(), "completed");
  EXPECT_EQ(second->text(), "done");
}

TEST(DocsTools, EngineWideManualMode) {
  auto deploy = allm::tool({.name = "deploy", .handler = [](const allm::Json&) { return allm::ok("never run"); }});
  const auto model = engine_calling(deploy, {{"to", "production"}}).adapter();
  // [tools-manual-engine]
  allm::Engine engine({.adapter = model, .tools = {deploy}, .params = {{"mode", "manual"}}});
  auto left_to_us = allm::chat(engine, {allm::user("Ship it.")});
  // One call may still ask for the automatic loop:
  auto by_the_loop = allm::chat(engine, {allm::user("Ship it.")}, {.mode = allm::Mode::automatic});
  // [/tools-manual-engine]
  ASSERT_TRUE(left_to_us.has_value());
  EXPECT_EQ(left_to_us->halted_reason(), "manual_tool_calls");
  ASSERT_TRUE(by_the_loop.has_value());
  EXPECT_EQ(by_the_loop->halted_reason(), "completed");
}

TEST(DocsTools, PerToolManual) {
  // [tools-per-tool-manual]
  auto deploy = allm::tool({.name = "deploy", .description = "Ships a release.", .manual = true});
  // [/tools-per-tool-manual]
  const allm::Engine engine = engine_calling(deploy);
  // [tools-per-tool-manual-run]
  auto result = allm::chat(engine, {allm::user("Ship it.")});
  if (!result) return;
  for (const allm::ToolCall& call : result->manual_tool_calls()) {
    result->thread.messages.push_back(allm::tool_result(call.id, "deployed by hand"));
  }
  auto answer = allm::chat(engine, result->thread);
  // [/tools-per-tool-manual-run]
  EXPECT_EQ(result->halted_reason(), "manual_tool_calls");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->text(), "done");
}

TEST(DocsTools, AskUser) {
  auto book = allm::tool({.name = "book", .handler = [](const allm::Json&) { return allm::ask_user("Which day?"); }});
  const allm::Engine engine = engine_calling(book);
  // [tools-ask-user]
  auto result = allm::chat(engine, {allm::user("Book a table.")});
  if (result && result->halted_reason() == allm::halted::ask_user) {
    allm::Thread thread = result->thread;  // it ends with the question
    thread.messages.push_back(allm::user("On Friday."));
    result = allm::chat(engine, thread);
  }
  // [/tools-ask-user]
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "done");
}

TEST(DocsTools, HaltWithACustomReason) {
  auto transfer = allm::tool({.name = "transfer", .handler = [](const allm::Json&) {
                                return allm::halt("needs_approval", {{"amount", 500}});
                              }});
  const allm::Engine engine = engine_calling(transfer);
  // [tools-halt]
  auto result = allm::chat(engine, {allm::user("Send 500.")});
  if (const auto* halted = result ? std::get_if<allm::ended::Halted>(&result->end) : nullptr) {
    const allm::Json& what = halted->result;  // {"amount": 500}; halted->reason == "needs_approval"
    EXPECT_EQ(what["amount"], 500);
  }
  // [/tools-halt]
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->halted_reason(), "needs_approval");
}

TEST(DocsTools, UnknownTool) {
  const auto adapter =
      allm::fake({{allm::fake_tool_call("c1", "wether"), allm::fake_finish(allm::FinishReason::tool_calls)},
                  {allm::fake_text("Sorry."), allm::fake_finish(allm::FinishReason::stop)}});
  const allm::Engine engine({.adapter = adapter, .tools = {{.name = "weather"}}});
  // [tools-unknown]
  auto result = allm::chat(engine, {allm::user("go")}, {.on_unknown_tool = allm::OnUnknownTool::report});
  // [/tools-unknown]
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "Sorry.");
  EXPECT_EQ(allm::Json::parse(answer_in(result->thread))["reason"], "unknown_tool");
}

TEST(DocsTools, ForcedCall) {
  const auto adapter = allm::fake([](const allm::AdapterCall& call) -> allm::FakeCallScript {
    if (call.request.tool_choice == allm::ToolChoice::tool("weather")) {
      return {allm::fake_tool_call("c1", "weather"), allm::fake_finish(allm::FinishReason::tool_calls)};
    }
    return {allm::fake_text("Sunny."), allm::fake_finish(allm::FinishReason::stop)};
  });
  const allm::Tool weather = {.name = "weather", .handler = [](const allm::Json&) { return allm::ok("sunny"); }};
  const allm::Engine engine({.adapter = adapter, .tools = {weather}});
  // [tools-forced]
  const auto result = allm::chat(engine, {allm::user("Weather?")}, {.tool_choice = allm::ToolChoice::tool("weather")});
  // [/tools-forced]
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "Sunny.");
}

TEST(DocsTools, Compact) {
  // [tools-compact]
  auto invoice = allm::tool({
      .name = "invoice",
      .description = "Writes an invoice. Amounts are in cents, dates as YYYY-MM-DD.",
      .schema = {{"type", "object"},
                 {"properties", {{"customer", {{"type", "string"}}}, {"cents", {{"type", "integer"}}}}},
                 {"required", {"customer", "cents"}}},
      .handler = [](const allm::Json&) { return allm::ok("written"); },
      .compact = true,
  });
  // [/tools-compact]
  const auto adapter = allm::fake({{allm::fake_tool_call("c1", "tool_help", {{"names", {"invoice"}}}),
                                    allm::fake_finish(allm::FinishReason::tool_calls)},
                                   {allm::fake_text("done"), allm::fake_finish(allm::FinishReason::stop)}},
                                  {.record = true});
  const allm::Engine engine({.adapter = adapter, .tools = {invoice}});
  const auto result = allm::chat(engine, {allm::user("go")});
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(adapter->requests().size(), 2U);
  const std::vector<allm::Tool> sent = adapter->requests()[0].request.tools;
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].description, "Writes an invoice. Args: customer, cents [compact]");
  EXPECT_EQ(sent[1].name, "tool_help");
  EXPECT_TRUE(answer_in(result->thread).starts_with("## invoice\nWrites an invoice. Amounts"));
  EXPECT_TRUE(result_for_model(invoice, {{"customer", "ACME"}})
                  .starts_with(R"({"error":"Missing required argument: cents\n\n)"));
  const allm::ToolCall call = {.id = "c1", .name = "tool_help", .arguments = {{"names", {"invoice"}}}};
  // [tools-compact-manual]
  allm::Message help = allm::tool_result(call.id, allm::answer_tool_help(engine.tools(), call.arguments));
  // [/tools-compact-manual]
  EXPECT_EQ(help.text(), answer_in(result->thread));
}

// [tools-executor]
// Runs tools as usual and counts them.
class CountingExecutor : public allm::ToolExecutor {
 public:
  void execute(const allm::Tool& tool, const allm::Json& arguments, const allm::ToolContext& context,
               allm::ToolCompletion done) override {
    ++calls;
    usual_.execute(tool, arguments, context, std::move(done));
  }
  std::atomic<int> calls = 0;

 private:
  allm::DefaultToolExecutor usual_;
};
// [/tools-executor]

// [tools-encoder]
// Describes failures to the model in plain text.
class PlainEncoder : public allm::JsonToolResultEncoder {
 public:
  std::string encode_failure(const allm::ToolFailure& failure) override {
    if (const auto* reported = std::get_if<allm::Json>(&failure.reason)) return "It failed: " + reported->dump();
    return "It failed: " + std::get<allm::Error>(failure.reason).message();
  }
};
// [/tools-encoder]

TEST(DocsTools, ExecutorAndEncoder) {
  auto flaky = allm::tool({.name = "flaky", .handler = [](const allm::Json&) { return allm::failure("no luck"); }});
  const allm::Engine base = engine_calling(flaky);
  const auto adapter = base.adapter();
  // [tools-plug]
  auto executor = std::make_shared<CountingExecutor>();
  allm::Engine engine({.adapter = adapter,
                       .tools = {flaky},
                       .tool_executor = executor,
                       .tool_result_encoder = std::make_shared<PlainEncoder>()});
  // [/tools-plug]
  const auto result = allm::chat(engine, {allm::user("go")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(answer_in(result->thread), "It failed: \"no luck\"");
  EXPECT_EQ(executor->calls, 1);
}

TEST(DocsTools, HandlersByName) {
  const auto adapter =
      allm::fake({{allm::fake_tool_call("c1", "get_weather"), allm::fake_finish(allm::FinishReason::tool_calls)},
                  {allm::fake_text("Nice."), allm::fake_finish(allm::FinishReason::stop)}});
  // [tools-handlers-by-name]
  allm::Tool get_weather = {.name = "get_weather", .description = "Current weather of a city."};
  auto handlers = std::make_shared<allm::DefaultToolExecutor>(allm::Handlers{
      {"get_weather", [](const allm::Json&) { return allm::ok("sunny"); }},
  });
  allm::Engine engine({.adapter = adapter, .tools = {get_weather}, .tool_executor = handlers});
  // [/tools-handlers-by-name]
  const auto result = allm::chat(engine, {allm::user("go")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(answer_in(result->thread), "sunny");
}

TEST(DocsTools, ExecutorInATest) {
  auto twice = allm::tool({.name = "twice", .handler = [](const allm::Json& arguments) {
                             return allm::ok(2 * arguments["n"].get<int>());
                           }});
  // [tools-executor-test]
  CountingExecutor counting;
  allm::ToolOutcome outcome = allm::execute_and_wait(
      counting, twice, {{"n", 2}}, allm::ToolContext::for_testing({.tool = "twice", .context = {{"user", "ada"}}}));
  // outcome == allm::ok(4)
  // [/tools-executor-test]
  EXPECT_EQ(outcome, allm::ok(4));
  EXPECT_EQ(counting.calls, 1);
}

TEST(DocsTools, RunnerAlone) {
  auto twice = allm::tool({.name = "twice", .handler = [](const allm::Json& arguments) {
                             return allm::ok(2 * arguments["n"].get<int>());
                           }});
  // [tools-runner]
  auto batch = allm::run_tool_calls(
      {{.id = "a", .name = "twice", .arguments = {{"n", 1}}}, {.id = "b", .name = "twice", .arguments = {{"n", 2}}}},
      {twice}, {.max_concurrency = 2});
  // batch->messages: "2" for a, "4" for b
  // [/tools-runner]
  ASSERT_TRUE(batch.has_value());
  ASSERT_EQ(batch->messages.size(), 2U);
  EXPECT_EQ(batch->messages[0].text(), "2");
  EXPECT_EQ(batch->messages[1].text(), "4");
}

// --- Typed tools ---

// [typed-result]
struct Report {
  std::string sky;
  double high = 0;
  static allm::Fields<Report> describe() {
    return {allm::field("sky", &Report::sky), allm::field("high", &Report::high)};
  }
};
// [/typed-result]

allm::Tool typed_forecast() {
  // [typed-tool]
  auto forecast = allm::tool<Forecast>({
      .name = "forecast",
      .description = "Weather of the coming days.",
      .handler =
          [](const Forecast& args) {
            const double high = args.unit == Unit::celsius ? 21 : 70;
            return allm::ok(Report{.sky = "clear over " + args.city, .high = high});
          },
  });
  // [/typed-tool]
  return forecast;
}

TEST(DocsTypedTools, RunsWithAStruct) {
  EXPECT_EQ(result_for_model(typed_forecast(), {{"city", "Rome"}}), R"({"sky":"clear over Rome","high":21.0})");
}

TEST(DocsTypedTools, Schema) {
  EXPECT_EQ(allm::schema_of<Forecast>(), allm::Json::parse(R"({
    "type": "object",
    "properties": {
      "city": {"type": "string", "description": "Name of the city."},
      "days": {"type": ["integer", "null"], "minimum": 1, "maximum": 14,
               "description": "How many days; all that are known if left out."},
      "unit": {"type": "string", "enum": ["celsius", "fahrenheit"],
               "description": "fahrenheit: for users in the US", "default": "celsius"},
      "details": {"type": "array", "items": {"type": "string"}, "maxItems": 3, "default": ["temperature"]}
    },
    "required": ["city"],
    "additionalProperties": false
  })"));
}

TEST(DocsTypedTools, Errors) {
  // [typed-errors]
  auto args = allm::arguments_from_json<Forecast>({{"days", "three"}, {"unit", "kelvin"}, {"contry", "IT"}});
  EXPECT_EQ(args.error().message(),
            "city: is required; "
            "days: must be an integer, got string; "
            "unit: must be one of \"celsius\", \"fahrenheit\", got \"kelvin\"; "
            "contry: is not known; known are city, days, unit, details");
  // [/typed-errors]
}

TEST(DocsTypedTools, Nested) {
  const allm::Json json = {{"from", {{"station", "Roma"}, {"platform", 300}}},
                           {"via", {{{"station", "Pisa"}, {"platform", 1}}}},
                           {"fares", {{"first", 90}}}};
  EXPECT_EQ(allm::arguments_from_json<Journey>(json).error().message(),
            "from.platform: must be an integer from 0 to 255, got 300");
}

TEST(DocsTypedTools, FreeDescription) {
  EXPECT_EQ(allm::json_of(geometry::Point{1, 2}), (allm::Json{{"x", 1.0}, {"y", 2.0}}));
}

TEST(DocsTypedTools, Late) {
  // [typed-late]
  auto forecast = allm::tool<Forecast>({
      .name = "forecast",
      .handler =
          [](Forecast args, const allm::ToolContext& context, allm::ToolCompletion done) {
            context.engine().runtime()->post_after(
                5ms, [args = std::move(args), done = std::move(done)] { done(allm::ok("clear over " + args.city)); });
          },
  });
  // [/typed-late]
  EXPECT_EQ(result_for_model(forecast, {{"city", "Rome"}}), "clear over Rome");
}

TEST(DocsTypedTools, Manual) {
  const allm::Engine engine =
      engine_calling(allm::tool<Forecast>({.name = "forecast", .manual = true}), {{"city", "Rome"}});
  // [typed-manual]
  auto result = allm::chat(engine, {allm::user("And tomorrow?")});
  for (const allm::ToolCall& call : result->manual_tool_calls()) {
    auto args = allm::arguments_from_json<Forecast>(call.arguments);
    std::string answer = args ? "clear over " + args->city : args.error().message();
    result->thread.messages.push_back(allm::tool_result(call.id, answer));
  }
  // [/typed-manual]
  EXPECT_EQ(answer_in(result->thread), "clear over Rome");
}

TEST(DocsTypedTools, StructuredOutput) {
  const allm::Engine engine({.adapter = allm::fake({{allm::fake_text(R"({"sky": "clear", "high": 21})"),
                                                     allm::fake_finish(allm::FinishReason::stop)}})});
  // [typed-output]
  auto result = allm::chat(engine, {allm::user("Weather in Rome?")},
                           {.response_format = allm::ResponseFormat::json_schema("report", allm::schema_of<Report>())});
  auto json = result ? allm::parse_json(result->text()) : std::unexpected(result.error());
  auto report = json ? allm::arguments_from_json<Report>(*json) : std::unexpected(json.error());
  // [/typed-output]
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->sky, "clear");
}

}  // namespace
}  // namespace docs_tools_test
