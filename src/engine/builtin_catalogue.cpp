#include <memory>

#include "allm/model.hpp"

#include "engine/models_json.hpp"

namespace allm {

const std::shared_ptr<const Catalogue>& builtin_catalogue() {
  // Never destroyed, so that engines in static objects can use it until the program ends. models_test.cpp checks that
  // the text parses.
  static const auto* const catalogue = new std::shared_ptr<const Catalogue>(
      std::make_shared<const Catalogue>(catalogue_from_json(models_json()).value_or(Catalogue())));
  return *catalogue;
}

}  // namespace allm
