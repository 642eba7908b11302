// A tool whose arguments are a struct.
//
// One description of the struct gives its JSON Schema, its parser, and the messages that tell a model what is wrong
// with its arguments.
#include <iostream>
#include <optional>
#include <string>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

enum class Unit { celsius, fahrenheit };

allm::EnumValues<Unit> describe(allm::TypeTag<Unit>) {
  return {{Unit::celsius, "celsius"}, {Unit::fahrenheit, "fahrenheit"}};
}

struct Forecast {
  std::string city;
  std::optional<int> days;
  Unit unit = Unit::celsius;

  static allm::Fields<Forecast> describe() {
    return {allm::field("city", &Forecast::city, "Name of the city."),
            allm::field("days", &Forecast::days, "How many days ahead.").minimum(1).maximum(14),
            allm::field("unit", &Forecast::unit).defaulted()};
  }
};

// The first call has wrong arguments. The model gets the reason and corrects its call.
allm::FakeScript script() {
  return {
      {allm::fake_tool_call("call_1", "forecast", {{"city", "Oslo"}, {"days", 30}}),
       allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_tool_call("call_2", "forecast", {{"city", "Oslo"}, {"days", 3}, {"unit", "fahrenheit"}}),
       allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("Three clear days at 50 degrees."), allm::fake_finish(allm::FinishReason::stop)},
  };
}

}  // namespace

int main() {
  const allm::Tool forecast = allm::tool<Forecast>({
      .name = "forecast",
      .description = "Weather of the coming days.",
      .handler =
          [](const Forecast& arguments) {
            const int high = arguments.unit == Unit::celsius ? 10 : 50;
            return allm::ok({{"city", arguments.city}, {"days", arguments.days.value_or(7)}, {"high", high}});
          },
  });
  std::cout << "schema: " << forecast.schema << '\n';

  const allm::Engine engine({.adapter = allm::fake(script()), .tools = {forecast}});
  const allm::Result<allm::ChatResult> result = allm::chat(engine, {allm::user("Oslo, the next days?")});
  if (!result) return fail(result.error().message());

  const std::string refused = result->steps[0].tool_results[0].text();
  const std::string accepted = result->steps[1].tool_results[0].text();
  std::cout << "first call:  " << refused << '\n' << "second call: " << accepted << '\n';
  std::cout << "assistant:   " << result->text() << '\n';

  if (refused.find("invalid_arguments") == std::string::npos) return fail("wrong arguments are refused");
  return accepted == R"({"city":"Oslo","days":3,"high":50})" ? 0 : fail(accepted);
}
