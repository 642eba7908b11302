// Models: references by name, and the catalogue of known models with their capabilities, limits and prices.
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
  // Plain form: {"tools": bool, "json_native": bool, "vision": bool, …}. Nested form: {"tools": {"enabled": bool},
  // "json": {"native": bool}, …}. A capability that is missing is unknown and forbids nothing. A capability that is
  // given here is used instead of that in the catalogue.
  Json capabilities = null_json();
  // {"context_tokens": count, "output_tokens": count}, for the program and for Catalogue::select. Runs do not check
  // them.
  Json limits = null_json();
  // {"input": price, "cached_input": price, "cache_write": price, "output": price} per million tokens. Cached tokens
  // without a price of their own cost as much as input; other missing prices mean an unknown cost. docs/models.md lists
  // all prices. The costs of a run are computed from the engine's catalogue, not from the ModelRef of the call.
  Json pricing = null_json();
  // {"temperature": {"default": 1}, …}: settings that the model refuses, by the provider's names. They are left out of
  // requests, with a warning in telemetry. docs/models.md describes the rules. A name that is given here replaces the
  // rule of the catalogue; null means that the setting is sent.
  Json refuses = null_json();
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const ModelRef&) const;

  // Whether the model has a capability, by the name of the plain form ("tools", "json_native"); nullopt if that is
  // unknown.
  std::optional<bool> capability(std::string_view name) const;
};

// Properties that a model must have, or should have.
struct ModelTraits {
  std::vector<std::string> capabilities = {};                 // "tools", "json_native", "vision", "reasoning", …
  std::optional<std::int64_t> context_tokens = std::nullopt;  // at least
  std::optional<std::int64_t> output_tokens = std::nullopt;   // at least
  std::vector<std::string> providers = {};                    // one of these; earlier ones are preferred
};

// The argument of Catalogue::select:
//   catalogue.select({.require = {.capabilities = {"tools"}}, .prefer = {.providers = {"anthropic", "openai"}}})
struct ModelChoice {
  ModelTraits require = {};  // all of them; an unknown property counts as missing
  ModelTraits prefer = {};   // as many of them as possible
};

// A list of known models. Immutable once built; safe to read from any thread.
class Catalogue {
 public:
  Catalogue() = default;
  explicit Catalogue(std::vector<ModelRef> models);

  // Returns the entry with that id (and that provider, if the reference names one). A dated snapshot
  // (gpt-4.1-mini-2025-04-14, claude-sonnet-4-5-20250929, claude-sonnet-4-5@20250929) or `-latest` alias without an
  // entry of its own gets the entry of its model. Null if there is none. The pointer is valid as long as the catalogue.
  const ModelRef* find(const ModelRef& model) const;
  const std::vector<ModelRef>& models() const { return models_; }

  // The model that has all of `require` and most of `prefer`: first by the number of preferred capabilities and limits,
  // then by the place of its provider in `prefer.providers`, then by its place in the catalogue. Fails with EngineError
  // `catalog_not_loaded` if the catalogue is empty and `missing_model` if no model has all of `require`.
  Result<ModelRef> select(const ModelChoice& choice) const;

  // Returns this catalogue with the entries of `other` added. Where both have an entry with the same provider and id,
  // each member of capabilities, limits, pricing and metadata in `other` replaces the member here; a null member makes
  // the fact unknown.
  Catalogue overridden_by(const Catalogue& other) const;

 private:
  std::vector<ModelRef> models_;
};

// The built-in catalogue, with prices in US dollars. Parsed at the first call. Safe to call from any thread.
const std::shared_ptr<const Catalogue>& builtin_catalogue();

// A catalogue from the text of a model file, as docs/models.md describes it. Fails with ValidationError
// `invalid_request`, whose errors name each wrong field: models[3].pricing.input. Safe to call from any thread.
Result<Catalogue> catalogue_from_json(std::string_view text);
// Reads a catalogue from a file of at most 16 MiB. Fails as catalogue_from_json does, and if the file cannot be read;
// the message names the file. Blocks while reading.
Result<Catalogue> read_catalogue(const std::string& path);

}  // namespace allm
