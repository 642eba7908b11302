#include "allm/fake.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

#include "testing/fake/fake_source.hpp"

namespace allm {

FakeEntry fake_text(std::string text) { return FakeText{std::move(text)}; }
FakeEntry fake_reasoning(std::string text) { return FakeReasoning{std::move(text)}; }
FakeEntry fake_tool_call(std::string id, std::string name, Json arguments) {
  return FakeToolCall{.id = std::move(id), .name = std::move(name), .arguments = std::move(arguments)};
}
FakeEntry fake_finish(FinishReason reason) { return FakeFinish{reason}; }
FakeEntry fake_usage(Usage usage) { return FakeUsage{std::move(usage)}; }
FakeEntry fake_delay(std::chrono::milliseconds delay) { return FakeDelay{delay}; }
FakeEntry fake_error(AdapterError::Reason reason) {
  return FakeError{Error(AdapterError{.reason = reason, .provider = "fake"})};
}
FakeEntry fake_preflight_error(AdapterError::Reason reason) {
  return FakePreflightError{Error(AdapterError{.reason = reason, .provider = "fake"})};
}

namespace {

std::unexpected<Error> no_response(std::string message) {
  return std::unexpected(Error(AdapterError{.reason = AdapterError::Reason::no_scripted_response, .provider = "fake"},
                               std::move(message)));
}

Result<std::shared_ptr<const FakeCallScript>> script_of(const FakeFunction& answer, const AdapterCall& call) {
  const std::string threw = "the function that answers for the fake model threw ";
  try {
    return std::make_shared<const FakeCallScript>(answer(call));
  } catch (const std::exception& exception) {
    return no_response(threw + "an exception: " + exception.what());
  } catch (...) {
    return no_response(threw + "something that is not a std::exception");
  }
}

}  // namespace

struct FakeAdapter::State {
  State(std::shared_ptr<const FakeScript> shared_script, FakeFunction function, FakeOptions fake_options)
      : script(std::move(shared_script)), answer(std::move(function)), options(std::move(fake_options)) {}

  const std::shared_ptr<const FakeScript> script;  // null if there is a function
  const FakeFunction answer;
  const FakeOptions options;
  std::atomic<std::size_t> cursor{0};
  std::atomic<std::size_t> closed{0};
  std::mutex mutex;
  std::vector<AdapterCall> requests;
};

FakeAdapter::FakeAdapter(std::shared_ptr<const FakeScript> script, FakeOptions options)
    : state_(std::make_shared<State>(std::move(script), nullptr, std::move(options))) {}
FakeAdapter::FakeAdapter(FakeFunction answer, FakeOptions options)
    : state_(std::make_shared<State>(nullptr, std::move(answer), std::move(options))) {}

Result<std::shared_ptr<const FakeCallScript>> FakeAdapter::next_script(const AdapterCall& call) {
  const std::size_t index = state_->cursor.fetch_add(1, std::memory_order_relaxed);
  if (state_->script == nullptr) return script_of(state_->answer, call);
  if (index >= state_->script->size()) {
    return no_response("the script has no response for model call " + std::to_string(index + 1) + ": it scripts " +
                       std::to_string(state_->script->size()));
  }
  return std::shared_ptr<const FakeCallScript>(state_->script, &(*state_->script)[index]);
}

Result<std::unique_ptr<EventSource>> FakeAdapter::open(const AdapterCall& call) {
  if (state_->options.record) {
    const std::lock_guard lock(state_->mutex);
    state_->requests.push_back(call);
  }
  auto script = next_script(call);
  if (!script) return std::unexpected(std::move(script).error());
  if (!(*script)->empty()) {
    if (const auto* preflight = std::get_if<FakePreflightError>(&(*script)->front())) {
      return std::unexpected(preflight->error);
    }
    const auto* expected = std::get_if<FakeExpectToolChoice>(&(*script)->front());
    if (expected != nullptr && expected->choice != call.request.tool_choice) {
      const auto text = [](const std::optional<ToolChoice>& choice) { return choice ? choice->json().dump() : "null"; };
      return no_response("the script expects the tool_choice " + text(expected->choice) + ", but the call has " +
                         text(call.request.tool_choice));
    }
  }
  // The source shares the script and the counter, because the adapter may be destroyed before the stream.
  return std::make_unique<FakeSource>(*std::move(script), state_->options.usage, call.runtime,
                                      std::shared_ptr<std::atomic<std::size_t>>(state_, &state_->closed));
}

std::vector<AdapterCall> FakeAdapter::requests() const {
  const std::lock_guard lock(state_->mutex);
  return state_->requests;
}

std::size_t FakeAdapter::calls() const { return state_->cursor.load(std::memory_order_relaxed); }
std::size_t FakeAdapter::closed() const { return state_->closed.load(std::memory_order_acquire); }

std::shared_ptr<FakeAdapter> fake(FakeScript script, FakeOptions options) {
  return std::make_shared<FakeAdapter>(std::make_shared<const FakeScript>(std::move(script)), std::move(options));
}

}  // namespace allm
