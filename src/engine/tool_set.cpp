#include "engine/tool_set.hpp"

#include <utility>

namespace allm {
namespace {

constexpr std::size_t kLinearSearchLimit = 8;

bool accepts_every_object(const Json& schema) {
  return schema.is_object() &&
         (schema.empty() || (schema.size() == 1 && schema.begin().key() == "type" && *schema.begin() == "object"));
}

}  // namespace

ToolSet::ToolSet(std::vector<Tool> tools) : tools_(std::move(tools)) {
  bool needs_schema = false;
  for (const Tool& tool : tools_) needs_schema = needs_schema || !accepts_every_object(tool.schema);
  if (needs_schema) compiled_ = std::make_unique<Compiled[]>(tools_.size());
  if (tools_.size() > kLinearSearchLimit) {
    for (std::size_t i = 0; i < tools_.size(); ++i) index_.try_emplace(tools_[i].name, i);
  }
}

const Tool* ToolSet::find(std::string_view name) const {
  if (!index_.empty()) {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &tools_[found->second];
  }
  for (const Tool& tool : tools_) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

const Result<Schema>* ToolSet::schema(const Tool& tool) const {
  if (accepts_every_object(tool.schema)) return nullptr;
  Compiled& compiled = compiled_[static_cast<std::size_t>(&tool - tools_.data())];
  std::call_once(compiled.once, [&] { compiled.schema.emplace(Schema::compile(tool.schema)); });
  return &*compiled.schema;
}

std::shared_ptr<const ToolSet> ToolSet::with(const std::vector<Tool>& more) const {
  std::vector<Tool> merged = tools_;
  for (const Tool& tool : more) {
    const Tool* existing = find(tool.name);
    if (existing != nullptr) {
      merged[static_cast<std::size_t>(existing - tools_.data())] = tool;
    } else {
      merged.push_back(tool);
    }
  }
  return std::make_shared<const ToolSet>(std::move(merged));
}

}  // namespace allm
