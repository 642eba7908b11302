// Applies a Program to one instance.
//
// There is one walk for both uses: without a list of errors it stops at the first failure and touches the heap as
// little as possible; with one it goes on and describes what it finds. Both give the same answer.
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

// Used for one instance by one thread. Refers to its constructor's arguments, which must outlive it.
class Evaluator {
 public:
  // `errors` may be null; what is found is appended to it.
  Evaluator(const Program& program, std::vector<SchemaError>* errors);

  // Whether the instance is valid.
  bool run(const Json& instance);

  // The error that says which limit ended the walk early, if one did.
  const std::optional<SchemaError>& exhausted() const { return exhausted_; }

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
  // The items or members of the current instance that some schema has evaluated; null when they are not needed. The
  // contents are undefined after a failed check.
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
  // As `check`, without errors: for schemas whose failure does not make the instance invalid.
  bool matches(const Node& node, const Json& instance, Evaluated out = nullptr);
  // As `check`, with a list of errors of its own.
  bool check_apart(const Node& node, const Json& instance, Evaluated out, std::vector<SchemaError>& errors);
  const Node& dynamic_target(const DynamicRef& ref);

  // Records the result of one check in `ok`. Returns whether further checks are worth doing.
  bool proceed(bool& ok, bool result) {
    if (result) return true;
    ok = false;
    return errors_ != nullptr && !exhausted_ && errors_->size() < max_errors_;
  }
  // Counts work. False when the limit is reached; every check fails from then on.
  bool spend(std::size_t steps);
  void exhaust(std::string message);

  bool collecting() const { return errors_ != nullptr; }
  // Adds an error whose message `describe()` returns, if errors are wanted. Always false.
  template <class Describe>
  [[gnu::noinline]] bool fail(const Node& node, std::string_view keyword, const Describe& describe) {
    if (collecting()) add_error(node, keyword, describe());
    return false;
  }
  bool fail_rejected(const Node& node);
  void add_error(const Node& node, std::string_view keyword, std::string message);
  // Explains why no alternative matches: in one error, or in the errors of the one alternative that was intended.
  void explain_alternatives(const Node& node, std::string_view keyword,
                            std::vector<std::vector<SchemaError>> alternatives);
  Path place_path() const;

  const Program& program_;
  std::vector<SchemaError>* errors_;
  std::size_t max_errors_;
  std::size_t steps_left_;
  std::size_t depth_ = 0;
  const Place* place_ = nullptr;
  const Scope* scope_ = nullptr;
  std::optional<SchemaError> exhausted_;
};

// Puts the path before the message, as SchemaError promises. The evaluator leaves that to the end.
void finish_messages(std::vector<SchemaError>& errors);

}  // namespace allm::schema_detail
