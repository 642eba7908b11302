// A tool whose arguments are a struct.
#include <iostream>

#include "allm/allm.hpp"
#include "allm/testing.hpp"

struct Place {
  std::string city;
  int days = 1;
  static allm::Fields<Place> describe() {
    return {allm::field("city", &Place::city, "Name of the city."),
            allm::field("days", &Place::days, "Days from today.").minimum(0).maximum(14)};
  }
};

int main() {
  const allm::Tool forecast = allm::tool<Place>({
      .name = "forecast",
      .description = "The weather of one day.",
      .handler = [](const Place& place) { return allm::ok({{"city", place.city}, {"celsius", 20 + place.days}}); },
  });
  // A real model: const allm::Engine engine = allm::engine_for("openai:gpt-4.1-mini", {.tools = {forecast}}).value();
  const allm::Engine engine(
      {.adapter = allm::fake({{allm::fake_tool_call("call_1", "forecast", {{"city", "Rome"}, {"days", 2}}),
                               allm::fake_finish(allm::FinishReason::tool_calls)},
                              {allm::fake_text("Rome will have 22 degrees the day after tomorrow."),
                               allm::fake_finish(allm::FinishReason::stop)}}),
       .tools = {forecast}});

  const allm::Result<allm::ChatResult> result = allm::chat(engine, {allm::user("Rome, the day after tomorrow?")});
  if (!result) {
    std::cerr << result.error().message() << '\n';
    return 1;
  }
  for (const allm::StepResult& step : result->steps) {
    for (const allm::Message& message : step.tool_results) std::cout << "forecast: " << message.text() << '\n';
  }
  std::cout << result->text() << '\n';
}
