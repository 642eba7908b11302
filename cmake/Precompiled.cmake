# Precompiled headers, one for the library and what is built like it, one for the tests: nlohmann/json.hpp alone costs
# more than most of our own files. They hide missing includes; the tidy build goes without and finds them.

if(ALLM_PCH AND CMAKE_POSITION_INDEPENDENT_CODE)
  # Executables are then compiled with -fPIE and libraries with -fPIC, and they cannot share.
  message(STATUS "Position-independent libraries: no precompiled header")
  set(ALLM_PCH OFF)
endif()

if(ALLM_PCH)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/pch/pch.cpp" CONTENT "// Carries the precompiled header.\n" @ONLY)
  add_library(allm_pch OBJECT "${PROJECT_BINARY_DIR}/pch/pch.cpp")
  target_link_libraries(allm_pch PRIVATE allm_flags nlohmann_json::nlohmann_json)
  set(allm_common_headers
    <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <deque> <expected> <functional> <map> <memory>
    <mutex> <optional> <span> <stop_token> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>
    <nlohmann/json.hpp>)
  target_precompile_headers(allm_pch PRIVATE ${allm_common_headers})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)  # lets ccache see through it
  endif()
endif()

function(allm_use_pch target)
  if(ALLM_PCH)
    target_precompile_headers(${target} REUSE_FROM allm_pch)
  endif()
endfunction()

# Tests are compiled quickly rather than well: without optimisation, and of the sanitizers without UBSan, which doubles
# the time for g++. What they test is compiled as the preset says.
set(ALLM_TEST_OPTIONS -O0)
if(ALLM_SANITIZE MATCHES "undefined")
  list(APPEND ALLM_TEST_OPTIONS -fno-sanitize=undefined)
endif()

function(allm_use_test_pch target)
  target_compile_options(${target} PRIVATE ${ALLM_TEST_OPTIONS})
  if(NOT ALLM_PCH)
    return()
  endif()
  if(NOT TARGET allm_test_pch)
    add_library(allm_test_pch OBJECT "${PROJECT_BINARY_DIR}/pch/pch.cpp")
    target_link_libraries(allm_test_pch PRIVATE
      allm_flags allm_lib simdjson::simdjson PkgConfig::RE2 fmt::fmt GTest::gmock GTest::gtest rapidcheck)
    target_compile_options(allm_test_pch PRIVATE ${ALLM_TEST_OPTIONS})
    target_precompile_headers(allm_test_pch PRIVATE
      ${allm_common_headers} <gmock/gmock.h> <gtest/gtest.h> <rapidcheck.h> <allm/allm.hpp>)
  endif()
  target_precompile_headers(${target} REUSE_FROM allm_test_pch)
endfunction()
