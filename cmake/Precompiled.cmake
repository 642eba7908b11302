# Precompiled headers: one for the library and similar targets, one for the tests, one for examples. Compiling
# nlohmann/json.hpp alone takes longer than most of our own files. Precompiled headers hide missing includes; the tidy
# build does not use them and finds missing includes.

if(ALLM_PCH AND CMAKE_POSITION_INDEPENDENT_CODE)
  # CMake compiles executables with -fPIE and libraries with -fPIC; one precompiled header needs one of them.
  set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
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
    add_compile_options(-fpch-preprocess)  # ccache needs it
  endif()
endif()

function(allm_use_pch target)
  if(ALLM_PCH)
    target_precompile_headers(${target} REUSE_FROM allm_pch)
  endif()
endfunction()

# Tests and examples are compiled without optimisation, and without UBSan, which doubles the compile time. The library
# that they test is compiled with the options of the preset.
set(ALLM_TEST_OPTIONS -O0)
if(ALLM_SANITIZE MATCHES "undefined")
  list(APPEND ALLM_TEST_OPTIONS -fno-sanitize=undefined)
endif()
# g++ spends an eighth of the compile time of tests on collecting garbage. With 200 MiB more memory it need not.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND ALLM_TEST_OPTIONS --param=ggc-min-expand=200 --param=ggc-min-heapsize=1048576)
endif()

# allm_use_own_pch(<target> <carrier> <libraries> <headers>): `target` uses the precompiled header of the target
# `carrier`, which the first call creates. Both are compiled with ALLM_TEST_OPTIONS.
function(allm_use_own_pch target carrier libraries headers)
  target_compile_options(${target} PRIVATE ${ALLM_TEST_OPTIONS})
  if(NOT ALLM_PCH)
    return()
  endif()
  if(NOT TARGET ${carrier})
    add_library(${carrier} OBJECT "${PROJECT_BINARY_DIR}/pch/pch.cpp")
    target_link_libraries(${carrier} PRIVATE allm_flags ${libraries})
    target_compile_options(${carrier} PRIVATE ${ALLM_TEST_OPTIONS})
    target_precompile_headers(${carrier} PRIVATE ${allm_common_headers} ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${carrier})
endfunction()

function(allm_use_test_pch target)
  allm_use_own_pch(${target} allm_test_pch
    "allm_lib;simdjson::simdjson;PkgConfig::RE2;fmt::fmt;GTest::gmock;GTest::gtest;rapidcheck"
    "<gmock/gmock.h>;<gtest/gtest.h>;<rapidcheck.h>;<allm/allm.hpp>;<allm/testing.hpp>")
endfunction()

# For programs that include only public headers, like a user's program.
function(allm_use_program_pch target)
  allm_use_own_pch(${target} allm_program_pch "allm_lib" "<iostream>;<allm/allm.hpp>")
endfunction()
