// Documents and images: a PDF in a question, and a tool that answers with a picture.
//
// The model is scripted, so that the example runs without a key. docs/vision.md lists what each provider accepts.
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

// [tool-with-image]
allm::ToolOutcome draw_chart(const allm::Json& arguments) {
  // A real tool would render one; these bytes are only the beginning of a PNG.
  const allm::Image chart{.source = allm::MediaBytes{"\x89PNG"}, .mime_type = "image/png"};
  return allm::ok(allm::TextPart{.text = "Chart of " + arguments.value("what", "nothing")},
                  allm::ImagePart{.image = chart});
}
// [/tool-with-image]

}  // namespace

int main() {
  const allm::Tool chart = allm::tool({
      .name = "draw_chart",
      .description = "Draws a chart.",
      .schema = {{"type", "object"}, {"properties", {{"what", {{"type", "string"}}}}}},
      .handler = draw_chart,
  });
  const allm::Engine engine({
      .adapter = allm::fake({
          {allm::fake_tool_call("call_1", "draw_chart", {{"what", "sales"}}),
           allm::fake_finish(allm::FinishReason::tool_calls)},
          {allm::fake_text("Sales went up, as the report says."), allm::fake_finish(allm::FinishReason::stop)},
      }),
      .tools = {chart},
  });

  // [document-in-a-message]
  const std::vector<allm::Part> question = {
      allm::TextPart{.text = "Does the chart agree with this report?"},
      allm::FilePart{
          .file = {.source = allm::MediaBytes{"%PDF-1.7 …"}, .mime_type = "application/pdf", .name = "report.pdf"}},
  };
  const allm::Result<allm::ChatResult> result = allm::chat(engine, {allm::user(question)});
  // [/document-in-a-message]
  if (!result) return fail(result.error().message());
  std::cout << result->final_response->text().value_or("") << '\n';

  // The tool's parts are the content of its message.
  const allm::Message& answer = result->thread.messages[2];
  if (!allm::has_media(answer.content)) return fail("the tool message has no image");
  if (answer.text() != "Chart of sales") return fail(answer.text());
  // A thread with media is saved like any other.
  if (!allm::to_json(result->thread)) return fail("the thread cannot be written");
  return 0;
}
