// The text of src/engine/models.json, which cmake/Catalogue.cmake compiles into the library. Any thread.
#pragma once

#include <string_view>

namespace allm {

std::string_view models_json();

}  // namespace allm
