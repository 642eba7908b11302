#include "cli/demo_command.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace allm::cli {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kQuestion = "I have Saturday afternoon free in Lisbon. What should I do?";
constexpr std::string_view kReply = "Outside, please. I like to walk.";
constexpr std::string_view kFirstText = "Let me see what the weather does and what is open.";
constexpr std::string_view kAnswer =
    "Go outside: it will be 24 °C and clear until the evening.\n"
    "\n"
    "  14:00  Take tram 28 up to Graça and look down on the city.\n"
    "  15:30  Walk through Alfama to the cathedral, all downhill.\n"
    "  17:30  End at the Botanical Garden, which is open until 20:00.\n";

// Delays like those of a real run, or none.
struct Pace {
  milliseconds word{0};
  milliseconds keystroke{0};
  milliseconds weather{0};
  milliseconds places{0};

  static Pace of(bool fast) {
    if (fast) return {};
    return {.word = milliseconds(25),
            .keystroke = milliseconds(15),
            .weather = milliseconds(900),
            .places = milliseconds(550)};
  }
};

// The text as a model streams it: a word at a time.
void say(FakeCallScript& script, std::string_view text, const Pace& pace) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n", 1), text.size());
    if (pace.word.count() > 0) script.push_back(fake_delay(pace.word));
    script.push_back(fake_text(std::string(text.substr(0, end))));
    text.remove_prefix(end);
  }
}

FakeScript script(const Pace& pace) {
  FakeCallScript look;
  say(look, kFirstText, pace);
  look.push_back(fake_tool_call("call_1", "weather", {{"city", "Lisbon"}, {"day", "Saturday"}}));
  look.push_back(fake_tool_call("call_2", "places", {{"city", "Lisbon"}, {"open_at", "17:30"}}));
  look.push_back(fake_usage({.input_tokens = 212, .output_tokens = 58}));
  look.push_back(fake_finish(FinishReason::tool_calls));

  FakeCallScript ask;
  ask.push_back(fake_tool_call("call_3", "ask_user", {{"question", "Would you rather be outside or in a museum?"}}));
  ask.push_back(fake_usage({.input_tokens = 331, .output_tokens = 27}));
  ask.push_back(fake_finish(FinishReason::tool_calls));

  FakeCallScript answer;
  say(answer, kAnswer, pace);
  answer.push_back(fake_usage({.input_tokens = 389, .output_tokens = 96}));
  answer.push_back(fake_finish(FinishReason::stop));
  return {look, ask, answer};
}

Json text_arguments(std::vector<std::string> names) {
  Json properties = Json::object();
  for (const std::string& name : names) properties[name] = {{"type", "string"}};
  return {{"type", "object"}, {"properties", properties}, {"required", names}};
}

std::vector<Tool> tools(const Pace& pace) {
  return {
      tool({.name = "weather",
            .description = "The weather of a city on a day.",
            .schema = text_arguments({"city", "day"}),
            .handler =
                [time = pace.weather](const Json&) {
                  std::this_thread::sleep_for(time);
                  return ok({{"celsius", 24}, {"sky", "clear"}});
                }}),
      tool({.name = "places",
            .description = "Places of a city that are open at a time.",
            .schema = text_arguments({"city", "open_at"}),
            .handler =
                [time = pace.places](const Json&) {
                  std::this_thread::sleep_for(time);
                  return ok(Json::array({"Botanical Garden", "Tile Museum"}));
                }}),
      tool({.name = "ask_user",
            .description = "Asks the user one question.",
            .schema = text_arguments({"question"}),
            .handler = [](const Json& arguments) { return ask_user(arguments.at("question").get<std::string>()); }}),
  };
}

// Shows events as they arrive.
class Show {
 public:
  explicit Show(const Terminal& out) : out_(out) {}

  void user(std::string_view text, milliseconds keystroke) {
    out_.write(out_.paint(Style::cyan, "you  › "));
    if (keystroke.count() == 0) {
      out_.write(out_.paint(Style::bold, text));
    } else {
      for (const char& c : text) {
        std::this_thread::sleep_for(keystroke);
        out_.write(out_.paint(Style::bold, {&c, 1}));
      }
    }
    out_.write("\n");
  }

  void event(const Event& event) {
    if (const auto* text = event.get_if<TextDelta>()) {
      if (!speaking_) out_.write(out_.paint(Style::green, "allm › "));
      speaking_ = true;
      ends_line_ = text->delta.ends_with('\n');
      out_.write(text->delta);
    } else if (event.tag() == EventTag::message_completed) {
      end_text();
    } else if (const auto* started = event.get_if<ToolExecutionStarted>()) {
      started_[started->id] = Clock::now();
      line("→", Style::yellow, fmt::format("{}({})", started->name, started->arguments.dump()), "running");
    } else if (const auto* completed = event.get_if<ToolExecutionCompleted>()) {
      ++tool_calls_;
      if (const auto* good = std::get_if<ToolOk>(&completed->outcome)) {
        line("✓", Style::green, fmt::format("{} = {}", completed->name, good->value.dump()), took(completed->id));
      }
    } else if (const auto* question = event.get_if<AskUserRequested>()) {
      out_.write(out_.paint(Style::green, "allm › ") + out_.paint(Style::yellow, question->question) + "\n");
    } else if (const auto* error = event.get_if<ErrorEvent>()) {
      end_text();
      line("✗", Style::red, error->error.message(), "");
    }
  }

  std::size_t tool_calls() const { return tool_calls_; }

 private:
  void end_text() {
    if (speaking_ && !ends_line_) out_.write("\n");
    speaking_ = false;
  }

  void line(std::string_view mark, Style style, const std::string& text, const std::string& note) {
    out_.write("       " + out_.paint(style, mark) + " " + text + "  " + out_.paint(Style::dim, note) + "\n");
  }

  std::string took(const std::string& id) const {
    const auto time = std::chrono::duration_cast<milliseconds>(Clock::now() - started_.at(id));
    return fmt::format("{} ms", time.count());
  }

  const Terminal& out_;
  bool speaking_ = false;
  bool ends_line_ = false;
  std::size_t tool_calls_ = 0;
  std::unordered_map<std::string, Clock::time_point> started_;
};

Result<SessionTurn> watch(SessionStream stream, Show& show) {
  for (const Event& event : stream) show.event(event);
  return stream.finish();
}

int report(const Error& error, const Terminal& out) {
  out.write(out.paint(Style::red, "The demo failed: ") + error.message() + "\n");
  return 1;
}

}  // namespace

int demo_command(bool fast, const Terminal& out) {
  const Pace pace = Pace::of(fast);
  const auto start = Clock::now();
  const Engine engine({.adapter = fake(script(pace)), .tools = tools(pace)});
  Show show(out);

  out.write(out.paint(Style::dim, "A scripted model, real tools: everything below but the words is allm at work.") +
            "\n\n");
  show.user(kQuestion, milliseconds(0));
  Session session{.thread = {user(std::string(kQuestion))}};
  const auto asked = watch(session_stream_start(engine, std::move(session)), show);
  if (!asked) return report(asked.error(), out);

  show.user(kReply, pace.keystroke);
  const auto answered = watch(session_stream_reply(engine, asked->session, std::string(kReply)), show);
  if (!answered) return report(answered.error(), out);

  Usage usage = asked->result.usage;
  usage += answered->result.usage;
  const std::chrono::duration<double> time = Clock::now() - start;
  out.write("\n" +
            out.paint(Style::dim, fmt::format("{} turns · {} tool calls · {} tokens · {:.1f} s",
                                              asked->result.steps.size() + answered->result.steps.size(),
                                              show.tool_calls(), usage.total().value_or(0), time.count())) +
            "\n");
  return std::holds_alternative<ended::Completed>(answered->result.end) ? 0 : 1;
}

CommandSpec demo_spec() {
  auto fast = std::make_shared<bool>(false);
  return {.name = "demo",
          .summary = "Show an agent at work, with a scripted model and no key",
          .description =
              "Streamed text, two tools in parallel, a question to the user that is answered from the script, "
              "and the final answer. It takes about three seconds.",
          .options = {{.names = "--fast",
                       .help = "Do not delay the output. This is the default when the output is not a terminal.",
                       .target = fast.get()}},
          .exit_codes = {{0, "The run was completed."}, {1, "It was not."}, {2, "The command line is wrong."}},
          .run = [fast](const CommandContext& context) {
            return demo_command(*fast || !context.out.interactive(), context.out);
          }};
}

}  // namespace allm::cli
