# The target tidy: clang-tidy over each source of the library and the command, with a stamp file each, so that only
# what changed, or includes what changed, is checked again.

if(ALLM_PCH OR NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "clang-tidy needs clang's flags and no precompiled header: use `cmake --preset tidy`.")
endif()
find_program(ALLM_CLANG_TIDY clang-tidy-19 REQUIRED)

set(stamps "")
foreach(source IN LISTS ALLM_LIB_SOURCES ALLM_CLI_SOURCES ALLM_CLI_MAIN)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE name)
  set(stamp "${PROJECT_BINARY_DIR}/tidy/${name}.ok")
  cmake_path(GET stamp PARENT_PATH folder)
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(OUTPUT "${stamp}"
    # clang-tidy itself writes no list of what a file includes.
    COMMAND "${CMAKE_CXX_COMPILER}" -std=c++23 -I "${PROJECT_SOURCE_DIR}/include" -I "${PROJECT_SOURCE_DIR}/src"
            -MM -MT "${stamp}" -MF "${stamp}.d" "${source}"
    # On stderr it counts the warnings it does not show; that is of use only when it fails.
    COMMAND sh -c "\"$0\" \"$@\" 2>'${stamp}.log' || { cat '${stamp}.log' >&2; exit 1; }"
            "${ALLM_CLANG_TIDY}" --quiet -p "${PROJECT_BINARY_DIR}" "${source}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS "${source}" "${PROJECT_SOURCE_DIR}/.clang-tidy"
    DEPFILE "${stamp}.d"
    COMMENT "clang-tidy ${name}"
    VERBATIM)
  list(APPEND stamps "${stamp}")
endforeach()
add_custom_target(tidy DEPENDS ${stamps})
