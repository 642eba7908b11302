// Models: a name, and what is known about it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/error.hpp"
#include "allm/json.hpp"

namespace allm {

// Names a model, optionally with facts about it. A plain name converts: `.model = "gpt-4.1-mini"`.
struct ModelRef {
  ModelRef();
  ModelRef(std::string model_id);
  ModelRef(const char* model_id);

  std::optional<std::string> provider;
  std::string id;
  // {"tools": bool, "json_native": bool, "vision": bool, …} or {"tools": {"enabled": bool}, "json": {"native": bool},
  // …}; a missing key forbids nothing. On a call's own model they count before those of the catalogue.
  Json capabilities = null_json();
  // {"context_tokens": count, "output_tokens": count}, for programs to look at.
  Json limits = null_json();
  // {"input": price, "cached_input": price, "cache_write": price, "output": price} per million tokens. What has no
  // price of its own is priced as input; docs/models.md has all of them.
  Json pricing = null_json();
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const ModelRef&) const;

  // Whether the model has a capability, by the name of the plain form ("tools", "json_native"); nothing if that is not
  // known.
  std::optional<bool> capability(std::string_view name) const;
};

// What a model has to have, or should have.
struct ModelTraits {
  std::vector<std::string> capabilities = {};                 // "tools", "json_native", "vision", "reasoning", …
  std::optional<std::int64_t> context_tokens = std::nullopt;  // at least
  std::optional<std::int64_t> output_tokens = std::nullopt;   // at least
  std::vector<std::string> providers = {};                    // one of these; earlier ones are preferred
};

// Catalogue::select({.require = {.capabilities = {"tools"}}, .prefer = {.providers = {"anthropic", "openai"}}}).
struct ModelChoice {
  ModelTraits require = {};  // all of it; what is not known of a model counts as missing
  ModelTraits prefer = {};   // as much of it as possible
};

// A list of known models. Immutable once built; safe to read from any thread.
class Catalogue {
 public:
  Catalogue() = default;
  explicit Catalogue(std::vector<ModelRef> models);

  // The entry of that id (and provider, if the reference names one), else the entry of the model that it is a dated
  // snapshot or the `-latest` alias of (gpt-4.1-mini-2025-04-14, claude-sonnet-4-5-20250929,
  // claude-sonnet-4-5@20250929), else null.
  const ModelRef* find(const ModelRef& model) const;
  const std::vector<ModelRef>& models() const { return models_; }

  // The model that has all of `require` and most of `prefer`: first by the number of preferred capabilities and limits,
  // then by the place of its provider in `prefer.providers`, then by its place in the catalogue. Fails with EngineError
  // `catalog_not_loaded` if the catalogue is empty and `missing_model` if no model has all of `require`.
  Result<ModelRef> select(const ModelChoice& choice) const;

  // This catalogue with the other's entries added. Where both have an entry of that provider and id, each member of
  // capabilities, limits, pricing and metadata that the other's mentions replaces ours; null says that it is not known.
  Catalogue overridden_by(const Catalogue& other) const;

 private:
  std::vector<ModelRef> models_;
};

// The models that allm knows by itself, with prices in US dollars. Parsed at the first call; any thread.
const std::shared_ptr<const Catalogue>& builtin_catalogue();

// A catalogue from the text of a model file, as docs/models.md describes it. Fails with ValidationError
// `invalid_request`, whose errors name each wrong field: models[3].pricing.input. Any thread.
Result<Catalogue> catalogue_from_json(std::string_view text);
// The same from a file of at most 16 MiB. Fails also if it cannot be read; messages name the file. Blocks while
// reading.
Result<Catalogue> read_catalogue(const std::string& path);

}  // namespace allm
