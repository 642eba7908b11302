// The code of docs/running.md, and of saved sessions and typed answers in docs/sessions.md and
// docs/structured-output.md. scripts/check_snippets.py compares the regions with the documents.
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace docs_running_test {
namespace {

allm::FakeCallScript says(const std::string& text) {
  return {allm::fake_text(text), allm::fake_finish(allm::FinishReason::stop)};
}

class RunningGuide : public ::testing::Test {
 protected:
  // An engine whose model answers `text` to every call, and remembers its requests.
  allm::Engine engine_saying(const std::string& text, allm::EngineOptions options = {}) {
    model = allm::fake([text](const allm::Request&) { return says(text); }, {.record = true});
    options.adapter = model;
    return allm::Engine(options);
  }
  allm::Request last_request() const { return model->requests().back().request; }

  std::shared_ptr<allm::FakeAdapter> model;
  std::ostringstream out;
};

TEST_F(RunningGuide, Ask) {
  const allm::Engine engine = engine_saying("About 1,500 kilometres.");
  // [running-ask]
  const allm::Result<std::string> answer = allm::ask(engine, "How far is Rome from Berlin?", {.max_tokens = 200});
  if (answer) out << *answer << '\n';
  // [/running-ask]
  EXPECT_EQ(out.str(), "About 1,500 kilometres.\n");
  EXPECT_EQ(last_request().max_tokens, 200);
}

TEST_F(RunningGuide, Unwrap) {
  const allm::Tool which =
      allm::tool({.name = "which", .handler = [](const allm::Json&) { return allm::ask_user("Which Springfield?"); }});
  const allm::Engine engine({.adapter = allm::fake({{allm::fake_tool_call("c0", "which"),
                                                     allm::fake_finish(allm::FinishReason::tool_calls)}}),
                             .tools = {which}});
  // [running-unwrap]
  const allm::Result<allm::ChatResult> result = allm::chat(engine, {allm::user("How is the weather in Springfield?")});
  if (result) {
    const allm::Result<std::string> text = allm::unwrap(*result);
    if (!text) out << text.error().metadata()["halted_reason"] << ": " << text.error().message() << '\n';
  }
  // [/running-unwrap]
  EXPECT_EQ(out.str().find("\"ask_user\": "), 0U) << out.str();
}

TEST_F(RunningGuide, Request) {
  const allm::Engine engine = engine_saying("{}");
  const allm::Tool search = allm::tool({.name = "search", .handler = [](const allm::Json&) { return allm::ok(1); }});
  // [running-request]
  const allm::Request request = {
      .messages = {allm::system("You answer with JSON."), allm::user("Three colours, please.")},
      .temperature = 0.2,
      .response_format = allm::ResponseFormat::json_object(),
      .tools = {search},
      .options = {{"top_p", 0.9}},
  };
  const allm::Result<allm::ChatResult> result = allm::chat(engine, request, {.max_turns = 4});
  // [/running-request]
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(last_request().temperature, 0.2);
  EXPECT_EQ(last_request().tools.size(), 1U);
  EXPECT_EQ(last_request().options.at("top_p"), 0.9);
}

TEST_F(RunningGuide, RequestOfASession) {
  const allm::Engine engine = engine_saying("Rome.");
  allm::Session session = {.thread = {allm::user("Hello."), allm::assistant("Hello!")}};
  // [running-session]
  const allm::Result<allm::SessionTurn> turn = allm::session_continue(
      engine, session, allm::Request{.messages = {allm::user("The capital of Italy?")}, .max_tokens = 50});
  if (turn) session = turn->session;  // has the question and the answer; the next run has no max_tokens
  // [/running-session]
  EXPECT_EQ(session.thread.messages.size(), 4U);
  EXPECT_EQ(last_request().max_tokens, 50);
  ASSERT_TRUE(allm::session_reply(engine, session, "And of France?"));
  EXPECT_FALSE(last_request().max_tokens.has_value());
}

TEST_F(RunningGuide, Defaults) {
  model = allm::fake([](const allm::Request&) { return says("hi"); }, {.record = true});
  // [running-defaults]
  const allm::Engine engine({
      .adapter = model,
      .defaults = {.temperature = 0.2, .max_turns = 4, .run_timeout = std::chrono::minutes(2)},
      .params = {{"top_p", 0.9}},  // settings under names of the provider
  });
  const auto first = allm::chat(engine, {allm::user("hi")});                         // temperature 0.2
  const auto second = allm::chat(engine, {allm::user("hi")}, {.temperature = 0.7});  // temperature 0.7, top_p 0.9
  const allm::Engine strict = engine.with_defaults({.max_turns = 1});                // replaces the defaults above
  // [/running-defaults]
  ASSERT_TRUE(first && second);
  EXPECT_EQ(model->requests()[0].request.temperature, 0.2);
  EXPECT_EQ(model->requests()[1].request.temperature, 0.7);
  EXPECT_EQ(model->requests()[1].request.options.at("top_p"), 0.9);
  EXPECT_FALSE(strict.options().defaults.temperature.has_value());
}

TEST_F(RunningGuide, NearMisses) {
  const allm::Engine engine = engine_saying("hi");
  // [running-near-miss]
  const auto result = allm::chat(engine, {allm::user("hi")}, {.params = {{"max_turnz", 4}}});
  if (!result) out << result.error().message() << '\n';  // … did you mean max_turns?
  // [/running-near-miss]
  EXPECT_NE(out.str().find("did you mean max_turns?"), std::string::npos) << out.str();
  EXPECT_EQ(model->calls(), 0U);
}

TEST_F(RunningGuide, SessionsOnDisk) {
  const std::string path = std::filesystem::temp_directory_path() / ("docs-" + std::to_string(getpid()) + ".json");
  const allm::Session session = {.id = "ada-1", .thread = {allm::user("hi")}};
  // [sessions-file]
  const allm::Status saved = allm::save_session(path, session);
  if (!saved) out << saved.error().message() << '\n';  // names the file; an older file is unchanged
  const allm::Result<allm::Session> loaded = allm::load_session(path);
  // [/sessions-file]
  std::filesystem::remove(path);
  EXPECT_EQ(out.str(), "");
  ASSERT_TRUE(loaded);
  EXPECT_EQ(*loaded, session);
}

struct Book {
  std::string title;
  int year = 0;
  static allm::Fields<Book> describe() {
    return {allm::field("title", &Book::title), allm::field("year", &Book::year)};
  }
};

TEST_F(RunningGuide, As) {
  const allm::Engine engine = engine_saying(R"({"title": "Faust", "year": 1808})");
  // [structured-as]
  const allm::Result<allm::ChatResult> result =
      allm::chat(engine, {allm::user("Which book did Goethe publish in 1808?")},
                 {.response_format = allm::ResponseFormat::json_schema("book", allm::schema_of<Book>())});
  if (!result) return;
  const allm::Result<Book> book = result->as<Book>();
  if (book) out << book->title << ", " << book->year << '\n';
  // [/structured-as]
  EXPECT_EQ(out.str(), "Faust, 1808\n");
}

TEST_F(RunningGuide, AsNamesEveryError) {
  const allm::Result<allm::ChatResult> result =
      allm::chat(engine_saying(R"({"title": 7})"), {allm::user("Which book?")});
  ASSERT_TRUE(result);
  const allm::Result<Book> book = result->as<Book>();
  ASSERT_FALSE(book);
  ASSERT_NE(book.error().get_if<allm::ValidationError>(), nullptr);
  EXPECT_EQ(book.error().get_if<allm::ValidationError>()->errors.size(), 2U);
}

}  // namespace
}  // namespace docs_running_test
