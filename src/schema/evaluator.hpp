// Applies a Program to one instance.
//
// There is one walk for both uses: without a list of issues it stops at the first failure and touches the heap as
// little as possible; with one it goes on and describes what it finds. Both give the same verdict.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/schema.hpp"

#include "schema/bit_set.hpp"
#include "schema/node.hpp"

namespace allm::schema_detail {

// Used for one instance by one thread. Borrows its constructor's arguments.
class Evaluator {
 public:
  // `issues` may be null; what is found is appended to it.
  Evaluator(const Program& program, std::vector<SchemaIssue>* issues);

  // Whether the instance is valid.
  bool run(const Json& instance);

  // The issue that says which limit ended the walk early, if one did.
  const std::optional<SchemaIssue>& exhausted() const { return exhausted_; }

 private:
  // Where in the instance the walk is: a list that lives on the stack of the walk itself.
  struct Place {
    const Place* parent = nullptr;
    std::string_view key;
    std::int64_t index = -1;  // of an array's item; negative for an object's member
    std::size_t depth = 0;
  };
  // The resources that the walk has come through, innermost first.
  struct Scope {
    const Scope* parent = nullptr;
    const Resource* resource = nullptr;
  };
  // The items or members of the current instance that some schema has evaluated; null when nobody asks. After a failed
  // check its contents mean nothing.
  using Evaluated = BitSet*;

  // Each `check` says whether the instance is valid. Those that take an `out` note there what they evaluated.
  bool check(const Node& node, const Json& instance, Evaluated out);
  bool check_all(const Node& node, const Json& instance, Evaluated out);
  bool check_with_unevaluated(const Node& node, const Json& instance, Evaluated out);
  bool check_values(const Node& node, const Json& instance);
  bool check_number(const Node& node, const Json& instance);
  bool check_string(const Node& node, const std::string& text);
  bool check_array(const Node& node, const Json::array_t& items, Evaluated out);
  bool check_items(const Node& node, const Json::array_t& items, Evaluated out);
  bool check_contains(const Node& node, const Json::array_t& items, Evaluated out);
  bool check_unique(const Node& node, const Json::array_t& items);
  bool check_unevaluated_items(const Node& node, const Json::array_t& items, const BitSet& seen);
  bool check_object(const Node& node, const Json& instance, Evaluated out);
  bool check_members(const Node& node, const Json::object_t& members, BitSet& present, Evaluated out);
  bool check_undeclared(const Node& node, const Node& schema, const Json::object_t::value_type& member,
                        std::string_view keyword);
  bool check_name(const Node& node, const std::string& name);
  bool check_required(const Node& node, const BitSet& present);
  bool check_dependencies(const Node& node, const Json& instance, const BitSet& present, Evaluated out);
  bool check_unevaluated_properties(const Node& node, const Json::object_t& members, const BitSet& seen);
  bool check_applicators(const Node& node, const Json& instance, Evaluated out);
  bool check_alternatives(const Node& node, const Json& instance, Evaluated out, bool exactly_one);
  bool check_condition(const Applicators& rules, const Json& instance, Evaluated out);
  bool check_item(const Node& node, const Json& item, std::size_t index);
  bool check_member(const Node& node, const Json::object_t::value_type& member);
  // As `check`, without issues: for schemas whose failure does not make the instance invalid.
  bool matches(const Node& node, const Json& instance, Evaluated out = nullptr);
  // As `check`, with issues of its own.
  bool check_apart(const Node& node, const Json& instance, Evaluated out, std::vector<SchemaIssue>& issues);
  const Node& dynamic_target(const DynamicRef& ref);

  // Notes the verdict of one check in `ok`; whether there is reason to go on with others.
  bool proceed(bool& ok, bool verdict) {
    if (verdict) return true;
    ok = false;
    return issues_ != nullptr && !exhausted_ && issues_->size() < max_issues_;
  }
  // Pays for work; false when there is nothing left to pay with, after which every check fails.
  bool spend(std::size_t steps);
  void exhaust(std::string message);

  bool collecting() const { return issues_ != nullptr; }
  // Adds an issue whose message `describe()` returns, if issues are wanted. Always false.
  template <class Describe>
  [[gnu::noinline]] bool fail(const Node& node, std::string_view keyword, const Describe& describe) {
    if (collecting()) add_issue(node, keyword, describe());
    return false;
  }
  bool fail_rejected(const Node& node);
  void add_issue(const Node& node, std::string_view keyword, std::string message);
  // Says in one issue, or in those of the one alternative that was meant, why no alternative fits.
  void explain_alternatives(const Node& node, std::string_view keyword,
                            std::vector<std::vector<SchemaIssue>> alternatives);
  Path place_path() const;

  const Program& program_;
  std::vector<SchemaIssue>* issues_;
  std::size_t max_issues_;
  std::size_t steps_left_;
  std::size_t depth_ = 0;
  const Place* place_ = nullptr;
  const Scope* scope_ = nullptr;
  std::optional<SchemaIssue> exhausted_;
};

// Puts the path before the message, as SchemaIssue promises. The evaluator leaves that to the end.
void finish_messages(std::vector<SchemaIssue>& issues);

}  // namespace allm::schema_detail
