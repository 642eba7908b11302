// How the evaluator reports errors.
#include <algorithm>
#include <iterator>

#include "schema/evaluator.hpp"
#include "schema/messages.hpp"

namespace allm::schema_detail {
namespace {

constexpr std::size_t kErrorSteps = 50;

// Whether the alternative was clearly not intended: the value has another type, or another value in the member that
// tells the alternatives apart, such as {"kind": "circle"}.
bool rules_out(const SchemaError& error, std::size_t depth) {
  const std::size_t below = error.instance_path.size() - depth;
  if (error.keyword == "type") return below == 0;
  return (error.keyword == "const" || error.keyword == "enum") && below <= 1;
}

constexpr std::string_view kMustBe = "must be ";
constexpr std::string_view kGot = ", got ";

// One message for alternatives that all want another type: "must be string or null, got integer". Empty if they do not.
std::string expected_types(const std::vector<std::vector<SchemaError>>& alternatives, std::size_t depth) {
  std::string expected;
  std::string_view got;
  for (const auto& errors : alternatives) {
    if (errors.size() != 1 || errors[0].keyword != "type" || errors[0].instance_path.size() != depth) return {};
    const std::string_view message = errors[0].message;
    const std::size_t end = message.rfind(kGot);
    got = message.substr(end);
    if (!expected.empty()) expected += " or ";
    expected += message.substr(kMustBe.size(), end - kMustBe.size());
  }
  return std::string(kMustBe) + expected + std::string(got);
}

std::string with_path(const SchemaError& error, std::size_t skip) {
  const auto from = error.instance_path.begin() + static_cast<std::ptrdiff_t>(skip);
  if (from == error.instance_path.end()) return error.message;
  return to_string(Path(from, error.instance_path.end())) + ": " + error.message;
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

void Evaluator::add_error(const Node& node, std::string_view keyword, std::string message) {
  // Writing a message costs far more than finding the error.
  spend(kErrorSteps);
  std::string schema_path = pointer_of(node);
  if (!keyword.empty()) append_pointer(schema_path, std::string(keyword));
  errors_->push_back({.instance_path = place_path(),
                      .schema_path = std::move(schema_path),
                      .keyword = std::string(keyword),
                      .message = std::move(message)});
}

bool Evaluator::fail_rejected(const Node& node) {
  if (!collecting()) return false;
  // A schema `false` has no keyword of its own, so the one that holds it is named.
  const std::string keyword = node.steps.empty() ? std::string() : std::get<std::string>(node.steps.front());
  const bool item = keyword == "items" || keyword == "additionalItems" || keyword == "unevaluatedItems";
  add_error(node, {}, item ? "unexpected item" : "no value is allowed here");
  errors_->back().keyword = keyword;
  return false;
}

void Evaluator::explain_alternatives(const Node& node, std::string_view keyword,
                                     std::vector<std::vector<SchemaError>> alternatives) {
  const Path here = place_path();
  const auto meant = [&](const std::vector<SchemaError>& errors) {
    return std::ranges::none_of(errors, [&](const SchemaError& error) { return rules_out(error, here.size()); });
  };
  const auto candidate = std::ranges::find_if(alternatives, meant);
  if (candidate != alternatives.end() && std::find_if(candidate + 1, alternatives.end(), meant) == alternatives.end()) {
    const std::size_t room = max_errors_ - std::min(errors_->size(), max_errors_);
    const auto end = candidate->begin() + static_cast<std::ptrdiff_t>(std::min(candidate->size(), room));
    errors_->insert(errors_->end(), std::make_move_iterator(candidate->begin()), std::make_move_iterator(end));
    return;
  }
  if (auto types = expected_types(alternatives, here.size()); !types.empty()) {
    return add_error(node, keyword, std::move(types));
  }
  constexpr std::size_t kShown = 8;
  constexpr std::size_t kMaxReason = 200;
  std::string message = keyword == "oneOf" ? "must match exactly one alternative:" : "must match an alternative:";
  for (std::size_t i = 0; i < std::min(alternatives.size(), kShown); ++i) {
    message += (i == 0 ? " (" : "; (") + std::to_string(i + 1) + ") ";
    if (!alternatives[i].empty()) message += clipped(with_path(alternatives[i].front(), here.size()), kMaxReason);
  }
  if (alternatives.size() > kShown) message += "; and " + std::to_string(alternatives.size() - kShown) + " more";
  add_error(node, keyword, std::move(message));
}

void finish_messages(std::vector<SchemaError>& errors) {
  for (SchemaError& error : errors) error.message = with_path(error, 0);
}

}  // namespace allm::schema_detail
