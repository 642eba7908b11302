#include "allm/model.hpp"

#include <algorithm>
#include <utility>

namespace allm {
namespace {

// Whether the text has the pattern's length and characters, where 0 stands for any digit.
bool has_shape(std::string_view text, std::string_view pattern) {
  return std::ranges::equal(text, pattern,
                            [](char c, char wanted) { return wanted == '0' ? c >= '0' && c <= '9' : c == wanted; });
}

// The id without what marks a snapshot or an alias; "" if there is no such mark. Only these few forms are known to mean
// the same model: anything that is merely alike may cost ten times as much.
std::string_view family_of(std::string_view id) {
  for (const std::string_view mark : {"-latest", "-0000-00-00", "-00000000", "@00000000"}) {
    if (id.size() <= mark.size()) continue;
    const std::size_t end = id.size() - mark.size();
    if (has_shape(id.substr(end), mark)) return id.substr(0, end);
  }
  return {};
}

void override_members(Json& ours, const Json& theirs) {
  if (theirs.is_null()) return;
  if (!ours.is_object() || !theirs.is_object()) {
    ours = theirs;
    return;
  }
  for (const auto& [name, value] : theirs.items()) ours[name] = value;
}

}  // namespace

ModelRef::ModelRef() = default;
ModelRef::ModelRef(std::string model_id) : id(std::move(model_id)) {}
ModelRef::ModelRef(const char* model_id) : id(model_id) {}

Catalogue::Catalogue(std::vector<ModelRef> models) : models_(std::move(models)) {}

const ModelRef* Catalogue::find(const ModelRef& model) const {
  const auto named = [&](std::string_view id) -> const ModelRef* {
    const auto found = std::ranges::find_if(models_, [&](const ModelRef& known) {
      return known.id == id && (!model.provider.has_value() || known.provider == model.provider);
    });
    return found == models_.end() ? nullptr : &*found;
  };
  if (const ModelRef* exact = named(model.id)) return exact;
  const std::string_view family = family_of(model.id);
  return family.empty() ? nullptr : named(family);
}

Catalogue Catalogue::overridden_by(const Catalogue& other) const {
  std::vector<ModelRef> models = models_;
  for (const ModelRef& theirs : other.models_) {
    const auto ours = std::ranges::find_if(
        models, [&](const ModelRef& known) { return known.id == theirs.id && known.provider == theirs.provider; });
    if (ours == models.end()) {
      models.push_back(theirs);
      continue;
    }
    override_members(ours->capabilities, theirs.capabilities);
    override_members(ours->limits, theirs.limits);
    override_members(ours->pricing, theirs.pricing);
    override_members(ours->metadata, theirs.metadata);
    override_members(ours->unknown_fields, theirs.unknown_fields);
  }
  return Catalogue(std::move(models));
}

}  // namespace allm
