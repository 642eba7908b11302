# One precompiled header for all targets: nlohmann/json.hpp alone costs more than most of our own files.
# It hides missing includes; the tidy build goes without it and finds them.

if(ALLM_PCH AND CMAKE_POSITION_INDEPENDENT_CODE)
  # Executables are then compiled with -fPIE and libraries with -fPIC, and they cannot share.
  message(STATUS "Position-independent libraries: no precompiled header")
  set(ALLM_PCH OFF)
endif()

if(ALLM_PCH)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/pch/pch.cpp" CONTENT "// Carries the precompiled header.\n" @ONLY)
  add_library(allm_pch OBJECT "${PROJECT_BINARY_DIR}/pch/pch.cpp")
  target_link_libraries(allm_pch PRIVATE allm_flags nlohmann_json::nlohmann_json)
  target_precompile_headers(allm_pch PRIVATE
    <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <deque> <expected> <functional> <map> <memory>
    <mutex> <optional> <span> <stop_token> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>
    <nlohmann/json.hpp>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)  # lets ccache see through it
  endif()
endif()

function(allm_use_pch target)
  if(ALLM_PCH)
    target_precompile_headers(${target} REUSE_FROM allm_pch)
  endif()
endfunction()
