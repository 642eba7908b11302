// Model files: the JSON form of a catalogue. docs/models.md describes it.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "allm/model.hpp"

#include "data/read_file.hpp"

namespace allm {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxBytes = 16U << 20U;
// More errors would help nobody, and a hostile file could have millions.
constexpr std::size_t kMaxErrors = 50;

constexpr std::array<std::string_view, 5> kCapabilities = {"tools", "json_native", "vision", "reasoning",
                                                           "forced_tools"};
constexpr std::array<std::string_view, 2> kLimits = {"context_tokens", "output_tokens"};
constexpr std::array<std::string_view, 5> kPrices = {"input", "cached_input", "cache_write", "cache_write_1h",
                                                     "output"};

Path operator/(const Path& path, std::string_view name) {
  Path longer = path;
  longer.emplace_back(std::string(name));
  return longer;
}

class CatalogueErrors {
 public:
  void add(const Path& path, std::string reason, std::string_view words) {
    if (full()) return;
    if (!message_.empty()) message_ += "; ";
    message_ += fmt::format("{} {}", to_string(path), words);
    errors_.push_back({path, std::move(reason)});
  }
  bool empty() const { return errors_.empty(); }
  bool full() const { return errors_.size() >= kMaxErrors; }
  Error error() && {
    if (full()) message_ += "; and perhaps more";
    return Error(ValidationError{ValidationError::Reason::invalid_request, std::move(errors_)},
                 "invalid model file: " + message_);
  }

 private:
  std::vector<FieldError> errors_;
  std::string message_;
};

bool is_date(const std::string& text) {
  constexpr std::string_view kForm = "0000-00-00";
  return std::ranges::equal(text, kForm,
                            [](char c, char form) { return form == '-' ? c == '-' : c >= '0' && c <= '9'; });
}

// Members of a model that say where its figures come from. They become members of its metadata.
bool is_origin(std::string_view name) { return name == "source" || name == "as_of" || name == "unconfirmed"; }

// Reads the members that models and families have in common.
class FactReader {
 public:
  explicit FactReader(CatalogueErrors& errors) : errors_(errors) {}

  // {"temperature": {"default": 1, "unless": {"reasoning_effort": ["none"]}}, …}
  Json refuses(const Json& value, const Path& path) {
    if (value.is_null()) return nullptr;
    if (!value.is_object()) {
      errors_.add(path, "invalid_type", "must be an object: the settings that the model refuses, by their names");
      return nullptr;
    }
    for (const auto& [setting, rule] : value.items()) {
      if (!rule.is_null()) check_rule(rule, path / setting);
    }
    return value;
  }
  void check_source(const Json& value, const Path& path) {
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
      errors_.add(path, "invalid_type", "must be a text: the document with the figures");
    }
  }
  void check_as_of(const Json& value, const Path& path) {
    if (!value.is_string() || !is_date(value.get_ref<const std::string&>())) {
      errors_.add(path, "invalid_type", "must be a date: \"2026-11-18\"");
    }
  }

  void check_unconfirmed(const Json& value, const Path& path) {
    if (!value.is_array() || !std::ranges::all_of(value, [](const Json& name) { return name.is_string(); })) {
      errors_.add(path, "invalid_type", "must be a list of the members that no document confirms");
    }
  }

 private:
  void check_rule(const Json& rule, const Path& path) {
    if (!rule.is_object()) return errors_.add(path, "invalid_type", "must be an object, {} if nothing more is known");
    for (const auto& [name, value] : rule.items()) {
      if (name == "default" || name == "instead") continue;
      if (name != "unless") {
        errors_.add(path / name, "unknown_field", "is not a member of a rule: `default`, `unless` and `instead` are");
      } else if (!value.is_object() || !std::ranges::all_of(value, [](const Json& list) { return list.is_array(); })) {
        errors_.add(path / name, "invalid_type", "must be an object of lists: values of other settings");
      }
    }
  }

  CatalogueErrors& errors_;
};

using Families = std::map<std::string, Json, std::less<>>;

// The rules of each family in the file.
Families read_families(const Json& file, CatalogueErrors& errors) {
  Families families;
  const auto list = file.find("families");
  if (list == file.end() || list->is_null()) return families;
  const Path path = {std::string("families")};
  if (!list->is_object()) {
    errors.add(path, "invalid_type", "must be an object of families by their names");
    return families;
  }
  FactReader facts(errors);
  for (const auto& [name, family] : list->items()) {
    if (!family.is_object()) {
      errors.add(path / name, "invalid_type", "must be an object with `refuses`");
      continue;
    }
    if (const auto source = family.find("source"); source != family.end()) {
      facts.check_source(*source, path / name / "source");
    }
    if (const auto as_of = family.find("as_of"); as_of != family.end()) {
      facts.check_as_of(*as_of, path / name / "as_of");
    }
    families[name] = facts.refuses(family.value("refuses", Json()), path / name / "refuses");
  }
  return families;
}

class ModelReader {
 public:
  ModelReader(CatalogueErrors& errors, const Families& families)
      : errors_(errors), facts_(errors), families_(families) {}

  void read(const Json& entry, std::size_t index) {
    const Path path = {std::string("models"), static_cast<std::int64_t>(index)};
    if (!entry.is_object()) return errors_.add(path, "invalid_type", "must be an object with provider and id");
    ModelRef model;
    model.provider = required_text(entry, path, "provider", "such as \"openai\"");
    model.id = required_text(entry, path, "id", "the model's name, as the provider writes it");
    for (const auto& [name, value] : entry.items()) {
      if (name == "provider" || name == "id" || name == "family" || is_origin(name)) continue;
      if (name == "capabilities") {
        model.capabilities = members(value, path / name, kCapabilities, &ModelReader::check_capability);
      } else if (name == "limits") {
        model.limits = members(value, path / name, kLimits, &ModelReader::check_limit);
      } else if (name == "pricing") {
        model.pricing = members(value, path / name, kPrices, &ModelReader::check_price);
      } else if (name == "refuses") {
        model.refuses = facts_.refuses(value, path / name);
      } else if (name == "metadata") {
        if (!value.is_null()) model.metadata = members(value, path / name, {}, nullptr);
      } else {
        if (model.unknown_fields.is_null()) model.unknown_fields = Json::object();
        model.unknown_fields[name] = value;
      }
    }
    read_family(entry, path, model);
    read_origin(entry, path, model);
    if (!model.id.empty() && !model.provider->empty()) {
      const auto [first, fresh] = seen_.try_emplace({*model.provider, model.id}, index);
      if (!fresh) {
        errors_.add(path / "id", "duplicate",
                    fmt::format("is '{}', which models[{}] is already: keep one of them", model.id, first->second));
      }
    }
    models_.push_back(std::move(model));
  }
  std::vector<ModelRef> models() && { return std::move(models_); }

 private:
  using Check = void (ModelReader::*)(const Json& value, const Path& path);

  std::string required_text(const Json& entry, const Path& path, const char* name, std::string_view what) {
    const auto found = entry.find(name);
    if (found == entry.end() || found->is_null()) {
      errors_.add(path / name, "required", fmt::format("is required: give {}", what));
    } else if (!found->is_string()) {
      errors_.add(path / name, "invalid_type", fmt::format("must be a text: {}", what));
    } else if (found->get_ref<const std::string&>().empty()) {
      errors_.add(path / name, "empty", fmt::format("is empty: give {}", what));
    } else {
      return found->get<std::string>();
    }
    return {};
  }

  // The rules of the family, unless the model has rules of its own for the same settings.
  void read_family(const Json& entry, const Path& path, ModelRef& model) {
    const auto name = entry.find("family");
    if (name == entry.end() || name->is_null()) return;
    const auto family = name->is_string() ? families_.find(name->get_ref<const std::string&>()) : families_.end();
    if (family == families_.end()) {
      return errors_.add(path / "family", "unknown", "is not the name of a family in `families`");
    }
    Json rules = family->second;
    if (rules.is_object() && model.refuses.is_object()) rules.update(model.refuses);
    if (rules.is_object()) model.refuses = std::move(rules);
  }
  // Where the figures come from.
  void read_origin(const Json& entry, const Path& path, ModelRef& model) {
    for (const auto& [name, check] :
         {std::pair{"source", &FactReader::check_source}, std::pair{"as_of", &FactReader::check_as_of},
          std::pair{"unconfirmed", &FactReader::check_unconfirmed}}) {
      const auto value = entry.find(name);
      if (value == entry.end() || value->is_null()) continue;
      (facts_.*check)(*value, path / name);
      model.metadata[name] = *value;
    }
  }

  // Members without a meaning here are kept unchanged; null means "not known".
  Json members(const Json& value, const Path& path, std::span<const std::string_view> known, Check check) {
    if (!value.is_object() && !value.is_null()) errors_.add(path, "invalid_type", "must be an object");
    if (!value.is_object()) return nullptr;
    for (const std::string_view name : known) {
      const auto member = value.find(name);
      if (member != value.end() && !member->is_null()) (this->*check)(*member, path / name);
    }
    return value;
  }
  void check_capability(const Json& value, const Path& path) {
    const bool is_flag = value.is_object() && value.contains("enabled") && value["enabled"].is_boolean();
    if (!value.is_boolean() && !is_flag)
      errors_.add(path, "invalid_type", "must be true, false, null or {\"enabled\": true or false}");
  }
  void check_limit(const Json& value, const Path& path) {
    if (!value.is_number_integer()) {
      errors_.add(path, "invalid_type", "must be a whole number of tokens");
    } else if (value <= 0) {
      errors_.add(path, "must_be_positive", "must be more than 0: leave it out if there is no limit");
    }
  }
  void check_price(const Json& value, const Path& path) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      errors_.add(path, "invalid_type", "must be a number: US dollars for a million tokens");
    } else if (value.get<double>() < 0) {
      errors_.add(path, "negative", "must not be negative: leave it out if the price is not known");
    }
  }

  CatalogueErrors& errors_;
  FactReader facts_;
  const Families& families_;
  std::map<std::pair<std::string, std::string>, std::size_t> seen_;
  std::vector<ModelRef> models_;
};

// Whether the version of the file is known.
bool check_version(const Json& file, CatalogueErrors& errors) {
  const Path path = {std::string("allm_models")};
  if (!file.is_object()) {
    errors.add({std::string("json")}, "invalid_type", R"(must be an object: {"allm_models": 1, "models": […]})");
    return false;
  }
  const auto version = file.find("allm_models");
  if (version == file.end()) {
    errors.add(path, "required", R"(is required: write "allm_models": 1)");
  } else if (!version->is_number_integer()) {
    errors.add(path, "invalid_type", "must be a number, the version of the format: 1");
  } else if (*version != kVersion) {
    errors.add(path, "unsupported_version",
               fmt::format("is {}, but this allm reads version {} only", version->dump(), kVersion));
  }
  return errors.empty();
}

Error in_file(const std::string& path, const Error& error) {
  const auto* detail = error.get_if<ValidationError>();
  const std::string message = fmt::format("{}: {}", path, error.message());
  return detail == nullptr ? error : Error(*detail, message, error.metadata());
}

}  // namespace

Result<Catalogue> catalogue_from_json(std::string_view text) {
  const Result<Json> file = parse_json(text, {.max_bytes = kMaxBytes});
  if (!file) return std::unexpected(file.error());
  CatalogueErrors errors;
  if (!check_version(*file, errors)) return std::unexpected(std::move(errors).error());

  const Families families = read_families(*file, errors);
  ModelReader reader(errors, families);
  const auto models = file->find("models");
  if (models == file->end()) {
    errors.add({std::string("models")}, "required", "is required: give the list of models");
  } else if (!models->is_array()) {
    errors.add({std::string("models")}, "invalid_type", "must be a list of models");
  } else {
    for (std::size_t i = 0; i < models->size() && !errors.full(); ++i) reader.read((*models)[i], i);
  }
  if (!errors.empty()) return std::unexpected(std::move(errors).error());
  return Catalogue(std::move(reader).models());
}

Result<Catalogue> read_catalogue(const std::string& path) {
  const std::expected<std::string, int> text = read_file(path, kMaxBytes);
  if (!text) {
    const int code = text.error();
    const std::string why = code == EFBIG ? "it has more than 16 MiB" : errno_text(code);
    return std::unexpected(validation_error(ValidationError::Reason::invalid_request, {std::string("path")},
                                            errno_word(code),
                                            fmt::format("cannot read the model file '{}': {}", path, why)));
  }
  Result<Catalogue> catalogue = catalogue_from_json(*text);
  if (!catalogue) return std::unexpected(in_file(path, catalogue.error()));
  return catalogue;
}

}  // namespace allm
