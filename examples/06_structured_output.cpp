// An answer that a program can read.
//
// Many models cannot use tools and obey a schema in the same call. With `structured_finalize` the loop first runs with
// tools and without the schema, and then asks once more for the answer in the required format.
#include <iostream>
#include <string>
#include <vector>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

// [structured-type]
// One description gives both the schema for the model and the parser of its answer.
struct Recipe {
  std::string name;
  int minutes = 0;
  std::vector<std::string> ingredients;

  static allm::Fields<Recipe> describe() {
    return {allm::field("name", &Recipe::name), allm::field("minutes", &Recipe::minutes).minimum(1),
            allm::field("ingredients", &Recipe::ingredients).min_items(1)};
  }
};
// [/structured-type]

allm::FakeScript script() {
  return {
      {allm::fake_tool_call("call_1", "pantry"), allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("You could fry an egg."), allm::fake_finish(allm::FinishReason::stop)},
      {allm::fake_text(R"({"name": "Fried egg", "minutes": 5, "ingredients": ["egg", "butter"]})"),
       allm::fake_finish(allm::FinishReason::stop)},
  };
}

}  // namespace

int main() {
  const allm::Tool pantry = allm::tool({
      .name = "pantry",
      .description = "What is in the pantry.",
      .handler = [](const allm::Json&) { return allm::ok(allm::Json::array({"egg", "butter"})); },
  });
  const allm::Engine engine({.adapter = allm::fake(script()), .tools = {pantry}});

  // [structured-run]
  const allm::Result<allm::ChatResult> result =
      allm::chat(engine, {allm::user("What can I cook?")},
                 {.response_format = allm::ResponseFormat::json_schema("recipe", allm::schema_of<Recipe>()),
                  .structured_finalize = true});
  // [/structured-run]
  if (!result) return fail(result.error().message());
  std::cout << "the model wrote: " << result->text() << '\n';

  // [structured-read]
  // The text comes from a model, so it is parsed like any other input, with errors that say what is wrong.
  const allm::Result<allm::Json> json = allm::parse_json(result->text());
  if (!json) return fail(json.error().message());
  const allm::Result<Recipe> recipe = allm::arguments_from_json<Recipe>(*json);
  if (!recipe) return fail(recipe.error().message());
  // [/structured-read]
  std::cout << "the program read: " << recipe->name << ", " << recipe->minutes << " minutes, "
            << recipe->ingredients.size() << " ingredients\n";

  if (recipe->minutes != 5) return fail("five minutes");
  // The first pass has two steps, a tool call and an answer; the third step is the second pass.
  return result->steps.size() == 3 ? 0 : fail("three steps");
}
