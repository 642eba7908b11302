#include "allm/model.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

namespace allm {
namespace {

// Whether the text has the pattern's length and characters, where 0 stands for any digit.
bool has_shape(std::string_view text, std::string_view pattern) {
  return std::ranges::equal(text, pattern,
                            [](char c, char wanted) { return wanted == '0' ? c >= '0' && c <= '9' : c == wanted; });
}

// The id without the mark of a snapshot or an alias; "" if it has none. Only these few forms are known to name the same
// model: a model with a similar name may cost ten times as much.
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

std::optional<bool> flag(const Json& object, std::string_view name) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>();
  return found->is_object() ? flag(*found, "enabled") : std::nullopt;
}

bool has_limit(const ModelRef& model, const char* name, const std::optional<std::int64_t>& wanted) {
  if (!wanted) return true;
  if (!model.limits.is_object()) return false;
  const auto limit = model.limits.find(name);
  return limit != model.limits.end() && limit->is_number_integer() && limit->get<std::int64_t>() >= *wanted;
}

bool has_capability(const ModelRef& model, const std::string& name) { return model.capability(name).value_or(false); }

// The place of the model's provider in the list; its size if it is not in it.
std::size_t provider_rank(const ModelRef& model, const std::vector<std::string>& providers) {
  const auto found = std::ranges::find(providers, model.provider.value_or(""));
  return static_cast<std::size_t>(found - providers.begin());
}

bool has_all(const ModelRef& model, const ModelTraits& traits) {
  const bool right_provider =
      traits.providers.empty() || provider_rank(model, traits.providers) < traits.providers.size();
  return right_provider && has_limit(model, "context_tokens", traits.context_tokens) &&
         has_limit(model, "output_tokens", traits.output_tokens) &&
         std::ranges::all_of(traits.capabilities, [&](const std::string& name) { return has_capability(model, name); });
}

// Better models compare less.
auto rank(const ModelRef& model, const ModelChoice& choice) {
  std::ptrdiff_t met = std::ranges::count_if(choice.prefer.capabilities,
                                             [&](const std::string& name) { return has_capability(model, name); });
  met += has_limit(model, "context_tokens", choice.prefer.context_tokens) ? 1 : 0;
  met += has_limit(model, "output_tokens", choice.prefer.output_tokens) ? 1 : 0;
  return std::tuple(-met, provider_rank(model, choice.prefer.providers),
                    provider_rank(model, choice.require.providers));
}

std::string described(const ModelTraits& traits) {
  std::string text;
  const auto add = [&text](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  for (const std::string& name : traits.capabilities) add(name);
  if (traits.context_tokens) add("context_tokens " + std::to_string(*traits.context_tokens));
  if (traits.output_tokens) add("output_tokens " + std::to_string(*traits.output_tokens));
  for (const std::string& name : traits.providers) add("provider " + name);
  return text;
}

}  // namespace

std::optional<bool> ModelRef::capability(std::string_view name) const {
  if (const std::optional<bool> plain = flag(capabilities, name)) return plain;
  // {"json": {"native": true}} is the other form of {"json_native": true}.
  const std::size_t split = name.find('_');
  if (split == std::string_view::npos || !capabilities.is_object()) return std::nullopt;
  const auto group = capabilities.find(name.substr(0, split));
  return group == capabilities.end() ? std::nullopt : flag(*group, name.substr(split + 1));
}

Result<ModelRef> Catalogue::select(const ModelChoice& choice) const {
  if (models_.empty()) {
    return std::unexpected(
        Error(EngineError{.reason = EngineError::Reason::catalog_not_loaded}, "the catalogue has no models"));
  }
  const ModelRef* best = nullptr;
  for (const ModelRef& model : models_) {
    if (!has_all(model, choice.require)) continue;
    if (best == nullptr || rank(model, choice) < rank(*best, choice)) best = &model;
  }
  if (best != nullptr) return *best;
  return std::unexpected(Error(EngineError{.reason = EngineError::Reason::missing_model},
                               "no model of the catalogue has all of: " + described(choice.require)));
}

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
    override_members(ours->refuses, theirs.refuses);
    override_members(ours->metadata, theirs.metadata);
    override_members(ours->unknown_fields, theirs.unknown_fields);
  }
  return Catalogue(std::move(models));
}

}  // namespace allm
