# Compiles src/engine/models.json into the library, as an array of bytes, because string literals have a maximum length.

set(allm_models "${PROJECT_SOURCE_DIR}/src/engine/models.json")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${allm_models}")
file(READ "${allm_models}" allm_models_bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," allm_models_bytes "${allm_models_bytes}")
string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n    " allm_models_bytes
  "${allm_models_bytes}")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/models_json.cpp" @ONLY CONTENT [[
// Generated from src/engine/models.json by cmake/Catalogue.cmake.
#include "engine/models_json.hpp"

namespace allm {
namespace {

constexpr unsigned char kBytes[] = {
    @allm_models_bytes@
};

}  // namespace

std::string_view models_json() { return {reinterpret_cast<const char*>(kBytes), sizeof(kBytes)}; }

}  // namespace allm
]])
target_sources(allm_lib PRIVATE "${PROJECT_BINARY_DIR}/models_json.cpp")
