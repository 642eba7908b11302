#include "schema/loops.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace allm::schema_detail {
namespace {

std::vector<const Node*> applied_in_place(const Node& node) {
  std::vector<const Node*> targets;
  if (node.applicators) {
    const Applicators& a = *node.applicators;
    targets = {a.ref, a.static_ref, a.negated, a.condition, a.consequence, a.alternative};
    for (const auto* list : {&a.all_of, &a.any_of, &a.one_of})
      targets.insert(targets.end(), list->begin(), list->end());
  }
  if (node.object) {
    for (const Dependency& dependency : node.object->dependencies) targets.push_back(dependency.schema);
  }
  std::erase(targets, nullptr);
  return targets;
}

struct Visit {
  const Node* node = nullptr;
  std::vector<const Node*> targets;
  std::size_t next = 0;
};

}  // namespace

std::vector<const Node*> find_loop(const Program& program) {
  enum class State : std::uint8_t { open, done };
  std::unordered_map<const Node*, State> states;
  for (const Node& start : program.nodes) {
    if (!start.applicators && !start.object) continue;
    // A chain of references can be as long as the document, hence no recursion.
    std::vector<Visit> stack;
    const auto open = [&](const Node* node) {
      if (!states.emplace(node, State::open).second) return;
      stack.push_back({.node = node, .targets = applied_in_place(*node)});
    };
    open(&start);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next == top.targets.size()) {
        states[top.node] = State::done;
        stack.pop_back();
        continue;
      }
      const Node* target = top.targets[top.next++];
      const auto state = states.find(target);
      if (state != states.end() && state->second == State::open) {
        const auto first = std::ranges::find(stack, target, &Visit::node);
        std::vector<const Node*> loop;
        std::transform(first, stack.end(), std::back_inserter(loop), [](const Visit& visit) { return visit.node; });
        return loop;
      }
      open(target);
    }
  }
  return {};
}

}  // namespace allm::schema_detail
