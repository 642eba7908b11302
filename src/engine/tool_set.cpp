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

ToolSet::ToolSet(std::vector<Tool> tools) : tools_(std::move(tools)), cache_(std::make_shared<SchemaCache>()) {
  schemas_.resize(tools_.size());
  for (std::size_t i = 0; i < tools_.size(); ++i) {
    if (!accepts_every_object(tools_[i].schema)) schemas_[i] = std::make_shared<LazySchema>();
  }
  make_index();
}

ToolSet::ToolSet(std::vector<Tool> tools, std::shared_ptr<SchemaCache> cache)
    : tools_(std::move(tools)), cache_(std::move(cache)) {
  schemas_.resize(tools_.size());
  for (std::size_t i = 0; i < tools_.size(); ++i) {
    if (!accepts_every_object(tools_[i].schema)) schemas_[i] = cache_->find(tools_[i].schema);
  }
  make_index();
}

void ToolSet::make_index() {
  if (tools_.size() <= kLinearSearchLimit) return;
  for (std::size_t i = 0; i < tools_.size(); ++i) index_.try_emplace(tools_[i].name, i);
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
  const std::shared_ptr<LazySchema>& schema = schemas_[static_cast<std::size_t>(&tool - tools_.data())];
  return schema ? &schema->compiled(tool.schema) : nullptr;
}

std::shared_ptr<const ToolSet> ToolSet::with(const std::vector<Tool>& more) const {
  auto merged = std::make_shared<ToolSet>(*this);
  std::vector<bool> is_replaced(tools_.size(), false);
  for (const Tool& tool : more) {
    const Tool* existing = find(tool.name);
    std::size_t at = merged->tools_.size();
    if (existing != nullptr) {
      const auto index = static_cast<std::size_t>(existing - tools_.data());
      if (!is_replaced[index]) at = index;
      is_replaced[index] = true;
    }
    auto schema = accepts_every_object(tool.schema) ? nullptr : cache_->find(tool.schema);
    if (at == merged->tools_.size()) {
      merged->tools_.push_back(tool);
      merged->schemas_.push_back(std::move(schema));
    } else {
      merged->tools_[at] = tool;
      merged->schemas_[at] = std::move(schema);
    }
  }
  merged->index_.clear();  // the copied keys are views into the tools of this set
  merged->make_index();
  return merged;
}

}  // namespace allm
