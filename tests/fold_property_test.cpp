// The result of every function equals the fold of its stream, for random scripts, tools and options.
#include <algorithm>
#include <cstddef>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

#include "tests/generators.hpp"

namespace allm::fold_property_test {
namespace {

using std::chrono::milliseconds;

// --- Random runs

// Keeps completions without answering them, so their calls time out.
void keep(ToolCompletion done) {
  static std::mutex mutex;
  static std::vector<ToolCompletion> kept;
  const std::lock_guard lock(mutex);
  // Destroying a completion answers its call, so only the oldest are removed, whose batches have ended.
  if (kept.size() == 64) kept.erase(kept.begin(), kept.begin() + 32);
  kept.push_back(std::move(done));
}

// One tool of every kind. A tool depends only on its arguments, so that two runs have the same result.
const std::vector<Tool>& all_tools() {
  static const Json checked =
      Json::parse(R"({"type":"object","properties":{"n":{"type":"integer","maximum":3}},"required":["n"]})");
  static const auto* const tools = new std::vector<Tool>{
      {.name = "echo", .handler = [](const Json& arguments) { return ok(arguments); }},
      {.name = "text", .handler = [](const Json&) { return ok("täxt"); }},
      {.name = "parts",
       .handler =
           [](const Json& arguments) {
             if (arguments.empty()) return ok(TextPart{.text = "täxt"}, TextPart{.text = "more"});
             return ok(TextPart{.text = "see"}, ImagePart{.image = {.source = MediaBytes{"\xff"}}},
                       FilePart{.file = {.source = MediaId{"file-1"}}}, AudioPart{.audio = {.source = MediaUrl{"u"}}});
           }},
      {.name = "fails", .handler = [](const Json& arguments) { return failure(arguments.value("why", Json("no"))); }},
      {.name = "halts", .handler = [](const Json& arguments) { return halt("own", arguments); }},
      {.name = "reserved", .handler = [](const Json&) { return halt("completed"); }},
      {.name = "asks", .handler = [](const Json&) { return ask_user("who?", {{"choices", {"a", "b"}}}); }},
      {.name = "throws", .handler = [](const Json&) -> ToolOutcome { throw std::runtime_error("thrown"); }},
      {.name = "unwritable", .handler = [](const Json&) { return ok(std::numeric_limits<double>::quiet_NaN()); }},
      {.name = "later", .handler = [](const Json& arguments, ToolCompletion done) { done(ok(arguments)); }},
      {.name = "elsewhere",
       .handler =
           [](const Json&, const ToolContext& context, ToolCompletion done) {
             context.engine().runtime()->post_after(milliseconds(0), [done = std::move(done)] { done(ok("there")); });
           }},
      {.name = "silent", .handler = [](const Json&, ToolCompletion) {}},
      {.name = "overdue",
       .handler = [](const Json&, ToolCompletion done) { keep(std::move(done)); },
       .timeout = milliseconds(1)},
      {.name = "slow",
       .handler =
           [](const Json&) {
             std::this_thread::sleep_for(milliseconds(1));
             return ok("slow");
           }},
      {.name = "checked", .schema = checked, .handler = [](const Json& arguments) { return ok(arguments); }},
      {.name = "handed", .manual = true},
      {.name = "empty"},
      {.name = "brief",
       .description = "A short one. And more.",
       .schema = checked,
       .handler = [](const Json&) { return ok(1); },
       .compact = true},
  };
  return *tools;
}

struct RandomRun {
  std::shared_ptr<const FakeScript> script;
  std::vector<Tool> tools;
  CallOptions options;
  Json params = Json::object();
  Json context = Json::object();

  // A new engine, whose fake starts at the first script.
  Engine engine() const {
    return Engine({.adapter = std::make_shared<FakeAdapter>(script),
                   .model = "m",
                   .tools = tools,
                   .params = params,
                   .context = context,
                   .retry = {.max_attempts = 2, .base_delay = milliseconds(0), .jitter = milliseconds(0)}});
  }
};

class Maker {
 public:
  explicit Maker(const gen::Source& source) : random_(source), size_(static_cast<std::size_t>(source.size)) {}

  RandomRun run() {
    RandomRun made;
    for (const Tool& tool : all_tools()) {
      const bool waits = tool.name == "overdue" || tool.name == "slow";
      if (waits ? random_.chance(16) : !random_.chance(4)) made.tools.push_back(tool);
    }
    FakeScript script;
    for (std::size_t left = 1 + random_.below(2 + size_); left > 0; --left) script.push_back(call_script(made.tools));
    made.script = std::make_shared<const FakeScript>(std::move(script));
    made.options = options();
    if (random_.chance(3)) made.params = {{"max_turns", 1 + random_.below(4)}, {"top_p", 0.5}};
    if (random_.chance(3)) made.context = {{"tenant", 7}};
    return made;
  }

  std::vector<ToolCall> calls(const std::vector<Tool>& tools) {
    std::vector<ToolCall> made;
    for (std::size_t i = random_.below(6); i > 0; --i) {
      ToolCall call{.id = "c" + std::to_string(i), .name = name(tools), .arguments = arguments()};
      if (random_.chance(6)) call.raw_arguments = raw_arguments();
      if (random_.chance(20)) call.arguments = Json::array({1});
      made.push_back(std::move(call));
    }
    return made;
  }

  Session session() {
    Session made{.thread = thread()};
    if (random_.chance()) made.id = "s" + random_.text();
    if (random_.chance(3)) made.status = SessionStatus::completed;
    if (random_.chance(3)) made.context = {{"session", true}};
    return made;
  }

  // A session that waits for decisions on calls of `tools`.
  Session suspended_session(const std::vector<Tool>& tools) {
    Session made = session();
    made.status = SessionStatus::awaiting_tools;
    std::vector<ToolCall> made_calls = calls(tools);
    // A session that was loaded has objects only.
    for (ToolCall& call : made_calls) {
      if (!call.arguments.is_object()) call.arguments = Json::object();
    }
    made.thread.messages.push_back(Message{.role = Role::assistant, .content = "", .tool_calls = made_calls});
    for (const ToolCall& call : made_calls) {
      PendingToolCall pending{call};
      pending.kind = random_.chance(6) ? PendingKind::manual : PendingKind::suspended;
      made.pending_tool_calls.push_back(std::move(pending));
    }
    return made;
  }

  // Decisions on most of the calls; a few are wrong.
  std::vector<CallDecision> decisions(const std::vector<PendingToolCall>& pending) {
    std::vector<CallDecision> made;
    for (const PendingToolCall& call : pending) {
      if (random_.chance(8)) continue;
      const bool may_run = call.kind == PendingKind::suspended || random_.chance(20);
      made.push_back({call.id, may_run ? decision() : Approval::deny("by hand")});
      if (random_.chance(50)) made.push_back(made.back());
    }
    if (random_.chance(50)) made.push_back({"nobody", Approval::allow()});
    return made;
  }

  Thread thread() {
    Thread made{user("hi")};
    while (random_.chance(3)) made.messages.push_back(random_.chance() ? user("and?") : assistant("well"));
    if (random_.chance(100)) made.messages.push_back(Message{.role = Role::tool, .content = "lost"});
    return made;
  }

  // Sets random event filters. They hide events and must not change the result.
  void filter(CallOptions& options) {
    options.emit_text_deltas = random_.chance();
    options.emit_tool_deltas = random_.chance();
    options.emit_reasoning = random_.chance();
    options.include_raw_chunks = random_.chance();
  }

 private:
  Approval decision() {
    switch (random_.below(8)) {
      case 0:
        return Approval::deny("no");
      case 1:
        return random_.chance() ? Approval::suspend() : Approval();
      case 2:
        return Approval::allow_with(random_.chance(8) ? Json::array() : Json({{"n", 2}}));
      default:
        return Approval::allow();
    }
  }

  std::string name(const std::vector<Tool>& tools) {
    if (tools.empty() || random_.chance(25)) return random_.chance() ? "nobody" : "tool_help";
    return random_.pick(tools).name;
  }

  Json arguments() {
    switch (random_.below(5)) {
      case 0:
        return Json::object();
      case 1:
        return {{"n", random_.below(6)}};
      case 2:
        return {{"why", random_.json(2)}};
      case 3:
        return {{"names", Json::array({"brief", "nobody"})}};
      default:
        return random_.object(2);
    }
  }
  std::string raw_arguments() {
    static const std::vector<std::string> texts = {"", "{}", "{\"n\":1}", "{\"n\":", "[1]", "null", "7", " "};
    return random_.pick(texts);
  }

  FakeCallScript call_script(const std::vector<Tool>& tools) {
    FakeCallScript script;
    if (random_.chance(12)) {
      script.push_back(fake_preflight_error(random_.any_of(AdapterError::Reason::unknown)));
      return script;
    }
    bool calls = false;
    for (std::size_t left = random_.below(7); left > 0; --left) {
      switch (random_.below(12)) {
        case 0:
          script.push_back(fake_usage(random_.usage()));
          break;
        case 1:
          script.push_back(FakeRawChunk{random_.json(2)});
          break;
        case 2:
          script.push_back(FakeToolCallDelta{id(), random_.text()});
          break;
        case 3:
          if (random_.chance(4)) script.push_back(fake_error(random_.any_of(AdapterError::Reason::unknown)));
          break;
        case 4:
          if (random_.chance(8)) script.push_back(fake_delay(milliseconds(random_.below(2))));
          break;
        case 5:
        case 6:
          script.push_back(fake_text(random_.text()));
          break;
        case 7:
          script.push_back(random_.chance() ? fake_reasoning(random_.text()) : fake_text(random_.text()));
          break;
        default: {
          FakeToolCall call{.id = id(), .name = name(tools), .arguments = arguments()};
          if (random_.chance(6)) call.raw_arguments = raw_arguments();
          script.push_back(std::move(call));
          calls = true;
        }
      }
    }
    if (random_.chance(12)) return script;
    const bool fits = !random_.chance(10);
    script.push_back(fake_finish(fits ? (calls ? FinishReason::tool_calls : FinishReason::stop)
                                      : random_.any_of(FinishReason::other)));
    return script;
  }
  std::string id() { return "c" + std::to_string(random_.below(5)); }

  CallOptions options() {
    CallOptions made;
    if (random_.chance()) made.request_id = "rq";
    if (random_.chance(6)) made.mode = random_.any_of(Mode::manual);
    if (random_.chance(4)) made.max_turns = 1 + static_cast<std::int64_t>(random_.below(4));
    if (random_.chance(200)) made.max_turns = 0;
    if (random_.chance(4)) made.max_concurrency = 1 + static_cast<std::int64_t>(random_.below(4));
    if (random_.chance(4)) made.stream = random_.chance();
    if (random_.chance(4)) made.on_unknown_tool = OnUnknownTool::report;
    if (random_.chance(4)) made.context = random_.chance() ? Json({{"call", 1}}) : Json::object();
    if (random_.chance(6)) {
      const std::size_t at = random_.below(3);
      made.halt_when = [at](const StepResult& step) { return step.thread.messages.size() > 2 * at; };
    }
    if (random_.chance(5)) {
      made.structured_finalize = true;
      if (!random_.chance(8)) {
        made.response_format = ResponseFormat::json_schema("answer", {{"type", "object"}});
      }
      if (random_.chance()) made.structured_finalize_nudge = random_.chance() ? "" : "now";
    }
    limit(made);
    if (random_.chance(4)) made.approve = gate();
    switch (random_.below(8)) {
      case 0:
        made.on_tool_error = ToolErrorAction::halt;
        break;
      case 1:
        made.on_tool_error = ToolErrorFunction(
            [](const ToolCall&, const ToolFailure&) { return ToolErrorDecision::continue_with("instead"); });
        break;
      case 2:
        made.on_tool_error = ToolErrorFunction([](const ToolCall& call, const ToolFailure&) -> ToolErrorDecision {
          if (call.id == "c1") return ToolErrorDecision::halt();
          if (call.id == "c2") throw std::runtime_error("policy");
          return {};
        });
        break;
      default:
        break;
    }
    return made;
  }

  void limit(CallOptions& options) {
    const auto few = [this] { return 1 + static_cast<std::int64_t>(random_.below(4)); };
    if (random_.chance(8)) options.max_total_tokens = 100 * few();
    if (random_.chance(16)) options.max_cost = 1.0;
    if (random_.chance(8)) options.max_tool_calls = few();
    if (random_.chance(8)) {
      options.max_repeated_failures = few();
      options.max_concurrency = 1;  // with two failures at once, either could be the one that reaches the limit
    }
  }

  // The gate's decision depends only on the call, so that two runs have the same result.
  ApprovalGate gate() {
    const std::size_t salt = random_.below(12);
    return [salt](std::span<const ToolCall> calls) {
      if (salt == 0) throw std::runtime_error("gate");
      std::vector<Approval> decisions;
      for (const ToolCall& call : calls) {
        switch ((salt + call.id.back() + call.name.size()) % 7) {
          case 0:
            decisions.push_back(Approval::deny("no"));
            break;
          case 1:
            decisions.push_back(Approval::suspend());
            break;
          case 2:
            decisions.push_back(Approval::allow_with({{"n", 2}}));
            break;
          case 3:
            decisions.emplace_back();
            break;
          default:
            decisions.push_back(Approval::allow());
        }
      }
      return decisions;
    };
  }

  gen::Random random_;
  std::size_t size_;
};

// --- Comparing

void forget_ids(Response& response) { response.request_id.reset(); }
void forget_ids(StepResult& step) { forget_ids(step.response); }
// The response of the first pass of structured_finalize, which metadata hold as JSON; a session in error has the
// result's metadata under `error`.
void forget_ids(Json& metadata) {
  for (const char* place : {"", "/error"}) {
    const Json::json_pointer id(std::string(place) + "/structured_finalize/pass_1_response/data/request_id");
    if (metadata.contains(id)) metadata[id] = nullptr;
  }
}
void forget_ids(ChatResult& result) {
  forget_ids(result.metadata);
  if (result.final_response) forget_ids(*result.final_response);
  for (StepResult& step : result.steps) forget_ids(step);
}

template <class T>
std::string written(Result<T> result) {
  if (!result) return "error " + to_json(result.error()).value_or("unwritable");
  forget_ids(*result);
  return to_json(*result).value_or("unwritable");
}
std::string written(const Result<ToolBatch>& batch) {
  if (!batch) return "error " + *to_json(batch.error());
  std::string text = batch->halt ? StepResult{.end = *batch->halt}.full_metadata().dump() : "-";
  for (const Message& message : batch->messages) text += *to_json(message);
  return text;
}
std::string written(Result<SessionTurn> turn) {
  if (!turn) return "error " + *to_json(turn.error());
  forget_ids(turn->session.metadata);
  return *to_json(turn->session) + written(Result<ChatResult>(turn->result));
}
std::string written(const Result<SessionStep>& step) {
  if (!step) return "error " + *to_json(step.error());
  return *to_json(step->session) + written(Result<StepResult>(step->result));
}

StreamCollector collect(EventStream events, Thread seed = {}) {
  StreamCollector collector(std::move(seed));
  for (const Event& event : events) collector.apply(event);
  return collector;
}

// Every call has exactly one result; pending calls have none.
void check_answers(const ChatResult& result) {
  std::vector<ToolCall> pending(result.manual_tool_calls().begin(), result.manual_tool_calls().end());
  if (pending.empty() && std::holds_alternative<ended::Manual>(result.end)) pending = result.final_response->tool_calls;
  const MessageList& messages = result.thread.messages;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].tool_calls.empty()) continue;
    std::map<std::string, int> answers;
    std::size_t next = i + 1;
    for (; next < messages.size() && messages[next].role == Role::tool; ++next) ++answers[*messages[next].tool_call_id];
    const bool last = next == messages.size();
    for (const ToolCall& call : messages[i].tool_calls) {
      const bool waits = last && std::any_of(pending.begin(), pending.end(),
                                             [&call](const ToolCall& other) { return other.id == call.id; });
      RC_ASSERT(answers[call.id] == (waits ? 0 : 1));
    }
    RC_ASSERT(answers.size() == messages[i].tool_calls.size());
  }
}

RC_GTEST_PROP(Fold, ChatIsTheFoldOfItsStream, (const gen::Source& source)) {
  Maker maker(source);
  const RandomRun run = maker.run();
  const Thread thread = maker.thread();
  const Result<ChatResult> folded = chat(run.engine(), thread, run.options);
  const std::string expected = written(folded);
  RC_ASSERT(written(collect(stream(run.engine(), thread, run.options), thread).chat_result()) == expected);

  CallOptions filtered = run.options;
  maker.filter(filtered);
  RC_ASSERT(written(chat(run.engine(), thread, filtered)) == expected);
  if (folded) check_answers(*folded);
}

RC_GTEST_PROP(Fold, StepIsTheFoldOfItsStream, (const gen::Source& source)) {
  Maker maker(source);
  const RandomRun run = maker.run();
  const Thread thread = maker.thread();
  const std::string expected = written(step(run.engine(), thread, run.options));
  RC_ASSERT(written(collect(stream_step(run.engine(), thread, run.options)).step_result()) == expected);

  CallOptions filtered = run.options;
  maker.filter(filtered);
  RC_ASSERT(written(step(run.engine(), thread, filtered)) == expected);
}

RC_GTEST_PROP(Fold, GenerateIsTheFoldOfItsStream, (const gen::Source& source)) {
  Maker maker(source);
  const RandomRun run = maker.run();
  const Request request{.messages = maker.thread().messages};
  const std::string expected = written(generate(run.engine(), request, run.options));
  RC_ASSERT(written(collect(stream_generate(run.engine(), request, run.options)).response()) == expected);

  // A call that has only argument deltas cannot be collected without them.
  CallOptions filtered = run.options;
  maker.filter(filtered);
  filtered.emit_tool_deltas = true;
  RC_ASSERT(written(generate(run.engine(), request, filtered)) == expected);
}

// The result of finish() after `read` events.
template <class Stream>
std::string finished_after(Stream events, std::size_t read) {
  for (std::size_t i = 0; i < read && events.next(); ++i) {
  }
  return written(events.finish());
}

RC_GTEST_PROP(Fold, AStreamFinishedAfterAnyNumberOfEventsGivesTheFoldedResult, (const gen::Source& source)) {
  Maker maker(source);
  const RandomRun run = maker.run();
  const Thread thread = maker.thread();
  const Request request{.messages = thread.messages};
  const std::size_t read = static_cast<std::size_t>(*rc::gen::inRange(0, 30));
  CallOptions options = run.options;
  options.request_id = "r";
  RC_ASSERT(finished_after(stream(run.engine(), thread, options), read) ==
            written(chat(run.engine(), thread, options)));
  RC_ASSERT(finished_after(stream_step(run.engine(), thread, options), read) ==
            written(step(run.engine(), thread, options)));
  RC_ASSERT(finished_after(stream_generate(run.engine(), request, options), read) ==
            written(generate(run.engine(), request, options)));
}

RC_GTEST_PROP(Fold, AToolBatchIsTheFoldOfItsStream, (const gen::Source& source)) {
  Maker maker(source);
  const RandomRun run = maker.run();
  const std::vector<ToolCall> calls = maker.calls(run.tools);
  const Result<ToolBatch> folded = run_tool_calls(calls, run.tools, run.options);
  RC_ASSERT(written(collect(stream_tool_calls(calls, run.tools, run.options)).tool_batch()) == written(folded));
  if (!folded) return;
  RC_ASSERT(folded->messages.size() == calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) RC_ASSERT(folded->messages[i].tool_call_id == calls[i].id);
}

RC_GTEST_PROP(Fold, ASessionsTurnIsTheFoldOfItsStream, (const gen::Source& source)) {
  Maker maker(source);
  const RandomRun run = maker.run();
  const Session session = maker.session();
  const std::string expected = written(session_reply(run.engine(), session, "go on", run.options));
  SessionStream events = session_stream_reply(run.engine(), session, "go on", run.options);
  while (events.next()) {
  }
  const Session left = events.session();
  const Result<SessionTurn> turn = events.finish();
  RC_ASSERT(written(turn) == expected);
  RC_ASSERT(left == (turn ? turn->session : session));

  RC_ASSERT(written(session_stream_start(run.engine(), session, run.options).finish()) ==
            written(session_start(run.engine(), session, run.options)));
}

// RapidCheck cannot print texts that are not ASCII, so the difference is printed here.
bool same(const std::string& text, const std::string& expected) {
  if (text == expected) return true;
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(text, expected).in1 - text.begin());
  const std::size_t from = at < 200 ? 0 : at - 200;
  std::cerr << "got      … " << text.substr(from, 400) << "\nexpected … " << expected.substr(from, 400) << '\n';
  return false;
}

RC_GTEST_PROP(Fold, ApprovingIsTheFoldOfItsStream, (const gen::Source& source)) {
  Maker maker(source);
  RandomRun run = maker.run();
  run.options.request_id = "r";
  const Session session = maker.suspended_session(run.tools);
  const auto decisions = maker.decisions(session.pending_tool_calls);
  const Result<SessionTurn> folded = session_approve(run.engine(), session, decisions, run.options);
  SessionStream events = session_stream_approve(run.engine(), session, decisions, run.options);
  while (events.next()) {
  }
  RC_ASSERT(events.session() == (folded ? folded->session : session));
  RC_ASSERT(same(written(events.finish()), written(folded)));

  CallOptions filtered = run.options;
  maker.filter(filtered);
  const auto approve_thread = [&](const CallOptions& options) {
    return approve(run.engine(), session.thread, session.pending_tool_calls, decisions, options);
  };
  const Result<ChatResult> result = approve_thread(run.options);
  RC_ASSERT(same(written(approve_thread(filtered)), written(result)));
  const std::size_t read = static_cast<std::size_t>(*rc::gen::inRange(0, 30));
  RC_ASSERT(
      same(finished_after(stream_approve(run.engine(), session.thread, session.pending_tool_calls, decisions, filtered),
                          read),
           written(result)));
  if (result) check_answers(*result);
}

RC_GTEST_PROP(Fold, ASessionsStepIsTheFoldOfItsStream, (const gen::Source& source)) {
  Maker maker(source);
  const RandomRun run = maker.run();
  const Session session = maker.session();
  const Result<SessionStep> folded = session_step(run.engine(), session, run.options);
  SessionStream events = session_stream_step(run.engine(), session, run.options);
  while (events.next()) {
  }
  RC_ASSERT(events.session() == (folded ? folded->session : session));
  RC_ASSERT(written(events.finish_step()) == written(folded));
}

}  // namespace
}  // namespace allm::fold_property_test
