#include "schema/node.hpp"

#include <algorithm>

namespace allm::schema_detail {

Path path_of(const Node& node) {
  std::vector<const Node*> chain;
  for (const Node* at = &node; at != nullptr; at = at->parent) chain.push_back(at);
  Path path;
  std::for_each(chain.rbegin(), chain.rend(),
                [&path](const Node* at) { path.insert(path.end(), at->steps.begin(), at->steps.end()); });
  return path;
}

std::string pointer_of(const Node& node) {
  std::string pointer;
  for (const PathStep& step : path_of(node)) append_pointer(pointer, step);
  return pointer;
}

void append_pointer(std::string& pointer, const PathStep& step) {
  pointer += '/';
  if (const auto* index = std::get_if<std::int64_t>(&step)) {
    pointer += std::to_string(*index);
    return;
  }
  for (const char c : std::get<std::string>(step)) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

}  // namespace allm::schema_detail
