// Models: a name, and what is known about it.
#pragma once

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
  // {"tools": bool, "json_native": bool, "vision": bool, …}; a missing key forbids nothing.
  Json capabilities = null_json();
  Json limits = null_json();
  // {"input": price, "output": price} per million tokens.
  Json pricing = null_json();
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const ModelRef&) const;
};

// A list of known models. Immutable once built; safe to read from any thread.
class Catalogue {
 public:
  Catalogue() = default;
  explicit Catalogue(std::vector<ModelRef> models);

  // The entry of that id (and provider, if the reference names one), or null.
  const ModelRef* find(const ModelRef& model) const;
  const std::vector<ModelRef>& models() const { return models_; }

 private:
  std::vector<ModelRef> models_;
};

}  // namespace allm
