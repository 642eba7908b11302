// Schemas that apply to an instance only by applying themselves to the same instance again.
#pragma once

#include <vector>

#include "schema/node.hpp"

namespace allm::schema_detail {

// A cycle of nodes, each of which applies the next to the instance itself, through `$ref`, `allOf` and the like; empty
// if there is none. References that depend on the dynamic scope are not followed.
std::vector<const Node*> find_loop(const Program& program);

}  // namespace allm::schema_detail
