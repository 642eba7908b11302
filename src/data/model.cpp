#include "allm/model.hpp"

namespace allm {

const ModelRef* Catalogue::find(const ModelRef& model) const {
  for (const ModelRef& known : models_) {
    if (known.id == model.id && (!model.provider.has_value() || known.provider == model.provider)) return &known;
  }
  return nullptr;
}

}  // namespace allm
