// Model files: the JSON form of a catalogue. docs/models.md describes it.
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

constexpr std::array<std::string_view, 4> kCapabilities = {"tools", "json_native", "vision", "reasoning"};
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

class ModelReader {
 public:
  explicit ModelReader(CatalogueErrors& errors) : errors_(errors) {}

  void read(const Json& entry, std::size_t index) {
    const Path path = {std::string("models"), static_cast<std::int64_t>(index)};
    if (!entry.is_object()) return errors_.add(path, "invalid_type", "must be an object with provider and id");
    ModelRef model;
    model.provider = required_text(entry, path, "provider", "such as \"openai\"");
    model.id = required_text(entry, path, "id", "the model's name, as the provider writes it");
    for (const auto& [name, value] : entry.items()) {
      if (name == "provider" || name == "id") continue;
      if (name == "capabilities") {
        model.capabilities = members(value, path / name, kCapabilities, &ModelReader::check_capability);
      } else if (name == "limits") {
        model.limits = members(value, path / name, kLimits, &ModelReader::check_limit);
      } else if (name == "pricing") {
        model.pricing = members(value, path / name, kPrices, &ModelReader::check_price);
      } else if (name == "metadata") {
        if (!value.is_null()) model.metadata = members(value, path / name, {}, nullptr);
      } else {
        if (model.unknown_fields.is_null()) model.unknown_fields = Json::object();
        model.unknown_fields[name] = value;
      }
    }
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

  ModelReader reader(errors);
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
