#include "allm/model.hpp"

#include <utility>

namespace allm {

ModelRef::ModelRef() = default;
ModelRef::ModelRef(std::string model_id) : id(std::move(model_id)) {}
ModelRef::ModelRef(const char* model_id) : id(model_id) {}

Catalogue::Catalogue(std::vector<ModelRef> models) : models_(std::move(models)) {}

const ModelRef* Catalogue::find(const ModelRef& model) const {
  for (const ModelRef& known : models_) {
    if (known.id == model.id && (!model.provider.has_value() || known.provider == model.provider)) return &known;
  }
  return nullptr;
}

}  // namespace allm
