// The evaluator's account of what it found.
#include <algorithm>
#include <iterator>

#include "schema/evaluator.hpp"
#include "schema/messages.hpp"

namespace allm::schema_detail {
namespace {

constexpr std::size_t kIssueSteps = 50;

// Whether an alternative was not meant at all: the value has another type, or another value in the place that tells
// alternatives apart, such as {"kind": "circle"}.
bool rules_out(const SchemaIssue& issue, std::size_t depth) {
  const std::size_t below = issue.instance_path.size() - depth;
  if (issue.keyword == "type") return below == 0;
  return (issue.keyword == "const" || issue.keyword == "enum") && below <= 1;
}

constexpr std::string_view kMustBe = "must be ";
constexpr std::string_view kGot = ", got ";

// One message for alternatives that all want another type: "must be string or null, got integer". Empty if they do not.
std::string expected_types(const std::vector<std::vector<SchemaIssue>>& alternatives, std::size_t depth) {
  std::string expected;
  std::string_view got;
  for (const auto& issues : alternatives) {
    if (issues.size() != 1 || issues[0].keyword != "type" || issues[0].instance_path.size() != depth) return {};
    const std::string_view message = issues[0].message;
    const std::size_t end = message.rfind(kGot);
    got = message.substr(end);
    if (!expected.empty()) expected += " or ";
    expected += message.substr(kMustBe.size(), end - kMustBe.size());
  }
  return std::string(kMustBe) + expected + std::string(got);
}

std::string with_path(const SchemaIssue& issue, std::size_t skip) {
  const auto from = issue.instance_path.begin() + static_cast<std::ptrdiff_t>(skip);
  if (from == issue.instance_path.end()) return issue.message;
  return to_string(Path(from, issue.instance_path.end())) + ": " + issue.message;
}

}  // namespace

Path Evaluator::place_path() const {
  Path path;
  for (const Place* place = place_; place != nullptr; place = place->parent) {
    if (place->index < 0) {
      path.emplace_back(std::string(place->key));
    } else {
      path.emplace_back(place->index);
    }
  }
  std::ranges::reverse(path);
  return path;
}

void Evaluator::add_issue(const Node& node, std::string_view keyword, std::string message) {
  // Finding words costs far more than finding fault.
  spend(kIssueSteps);
  std::string schema_path = pointer_of(node);
  if (!keyword.empty()) append_pointer(schema_path, std::string(keyword));
  issues_->push_back({.instance_path = place_path(),
                      .schema_path = std::move(schema_path),
                      .keyword = std::string(keyword),
                      .message = std::move(message)});
}

bool Evaluator::fail_rejected(const Node& node) {
  if (!collecting()) return false;
  // A schema `false` has no keyword of its own, so the one that holds it is named.
  const std::string keyword = node.steps.empty() ? std::string() : std::get<std::string>(node.steps.front());
  const bool item = keyword == "items" || keyword == "additionalItems" || keyword == "unevaluatedItems";
  add_issue(node, {}, item ? "unexpected item" : "no value is allowed here");
  issues_->back().keyword = keyword;
  return false;
}

void Evaluator::explain_alternatives(const Node& node, std::string_view keyword,
                                     std::vector<std::vector<SchemaIssue>> alternatives) {
  const Path here = place_path();
  const auto meant = [&](const std::vector<SchemaIssue>& issues) {
    return std::ranges::none_of(issues, [&](const SchemaIssue& issue) { return rules_out(issue, here.size()); });
  };
  const auto candidate = std::ranges::find_if(alternatives, meant);
  if (candidate != alternatives.end() && std::find_if(candidate + 1, alternatives.end(), meant) == alternatives.end()) {
    const std::size_t room = max_issues_ - std::min(issues_->size(), max_issues_);
    const auto end = candidate->begin() + static_cast<std::ptrdiff_t>(std::min(candidate->size(), room));
    issues_->insert(issues_->end(), std::make_move_iterator(candidate->begin()), std::make_move_iterator(end));
    return;
  }
  if (auto types = expected_types(alternatives, here.size()); !types.empty()) {
    return add_issue(node, keyword, std::move(types));
  }
  constexpr std::size_t kShown = 8;
  constexpr std::size_t kMaxReason = 200;
  std::string message = keyword == "oneOf" ? "must match exactly one alternative:" : "must match an alternative:";
  for (std::size_t i = 0; i < std::min(alternatives.size(), kShown); ++i) {
    message += (i == 0 ? " (" : "; (") + std::to_string(i + 1) + ") ";
    if (!alternatives[i].empty()) message += clipped(with_path(alternatives[i].front(), here.size()), kMaxReason);
  }
  if (alternatives.size() > kShown) message += "; and " + std::to_string(alternatives.size() - kShown) + " more";
  add_issue(node, keyword, std::move(message));
}

void finish_messages(std::vector<SchemaIssue>& issues) {
  for (SchemaIssue& issue : issues) issue.message = with_path(issue, 0);
}

}  // namespace allm::schema_detail
