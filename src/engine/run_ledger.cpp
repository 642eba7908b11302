#include "engine/run_ledger.hpp"

#include <functional>

#include <nlohmann/json.hpp>

#include "engine/saturating_sum.hpp"

namespace allm {
namespace {

using Which = ended::Limit::Which;

std::size_t combined(std::size_t a, std::size_t b) { return a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6U) + (a >> 2U)); }

std::size_t hash_of(std::string_view text) { return std::hash<std::string_view>()(text); }

// Equal for equal arguments, whatever the order of their members. Without valid arguments, the model's text is hashed.
std::size_t hash_of(const ToolCall& call) {
  const bool only_text = call.arguments.empty() && call.raw_arguments;
  const std::size_t arguments =
      only_text
          ? hash_of(*call.raw_arguments)
          : hash_of(nlohmann::json(call.arguments).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return combined(hash_of(call.name), arguments);
}

}  // namespace

void RunLedger::add_usage(const Usage& usage) {
  const auto parts = [&] { return saturating_sum(usage.input_tokens.value_or(0), usage.output_tokens.value_or(0)); };
  tokens_ = saturating_sum(tokens_, usage.total_tokens ? *usage.total_tokens : parts());
  cost_ += usage.total_cost.value_or(0);
  if (!usage.total_cost) cost_unknown_ = true;
  if (parent_) parent_->add_usage(usage);
}

bool RunLedger::take_tool_call() {
  if (limits_.max_tool_calls && tool_calls_ >= *limits_.max_tool_calls) {
    tool_call_refused_ = true;
    return false;
  }
  if (parent_ && !parent_->take_tool_call()) return false;
  ++tool_calls_;
  return true;
}

std::int64_t RunLedger::tool_call_limit() const {
  return tool_call_refused_ || !parent_ ? limits_.max_tool_calls.value_or(0) : parent_->tool_call_limit();
}

void RunLedger::note_outcome(const ToolCall& call, const std::optional<std::string>& failure) {
  if (!limits_.max_repeated_failures) return;
  const std::size_t key = hash_of(call);
  if (!failure) {
    failing_.erase(key);
    return;
  }
  if (failing_.size() >= kMaxFailing && !failing_.contains(key)) failing_.clear();
  Failing& failing = failing_[key];
  const std::size_t text = hash_of(*failure);
  failing.times = failing.failure == text ? failing.times + 1 : 1;
  failing.failure = text;
  if (failing.times < *limits_.max_repeated_failures || repeated_) return;
  repeated_ = ended::Limit{.which = Which::max_repeated_failures,
                           .value = *limits_.max_repeated_failures,
                           .tool_name = call.name,
                           .tool_call_id = call.id};
}

std::optional<ended::Limit> RunLedger::exceeded() const {
  if (limits_.max_total_tokens && tokens_ >= *limits_.max_total_tokens) {
    return ended::Limit{.which = Which::max_total_tokens, .value = *limits_.max_total_tokens};
  }
  if (limits_.max_cost && (cost_unknown_ || cost_ >= *limits_.max_cost)) {
    return ended::Limit{
        .which = Which::max_cost, .value = *limits_.max_cost, .cost_unknown = cost_ < *limits_.max_cost};
  }
  if (tool_call_refused_) return ended::Limit{.which = Which::max_tool_calls, .value = *limits_.max_tool_calls};
  if (repeated_ || !parent_) return repeated_;
  return parent_->exceeded();
}

}  // namespace allm
