# clang-tidy on the sources of the libraries and the command. Each check leaves a stamp file, so that a source is checked
# again only if it, or a file that it includes, has changed.
#
#   tidy               every source separately, without a precompiled header: this also finds missing includes
#   tidy_<folder>      all sources of a folder at once (tidy_src_chat): this takes little longer than one source, because
#                      most of the time goes into the headers that they share

if(ALLM_PCH OR NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "clang-tidy needs clang's flags and no precompiled header: use `cmake --preset tidy`.")
endif()
find_program(ALLM_CLANG_TIDY clang-tidy-19 REQUIRED)

# allm_tidy(<stamp> <source> <name> <option>...): adds a command that creates `stamp` if clang-tidy finds nothing.
function(allm_tidy stamp source name)
  cmake_path(GET stamp PARENT_PATH folder)
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(OUTPUT "${stamp}"
    # clang-tidy cannot write a dependency file, so the compiler does.
    COMMAND "${CMAKE_CXX_COMPILER}" -std=c++23 -I "${PROJECT_SOURCE_DIR}/include" -I "${PROJECT_SOURCE_DIR}/src"
            -I "${PostgreSQL_INCLUDE_DIR}" -MM -MT "${stamp}" -MF "${stamp}.d" "${source}"
    # On stderr clang-tidy counts suppressed warnings, which is of interest only if it fails.
    COMMAND sh -c "\"$0\" \"$@\" 2>'${stamp}.log' || { cat '${stamp}.log' >&2; exit 1; }"
            "${ALLM_CLANG_TIDY}" --quiet -p "${PROJECT_BINARY_DIR}" ${ARGN} "${source}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS "${source}" "${PROJECT_SOURCE_DIR}/.clang-tidy"
    DEPFILE "${stamp}.d"
    COMMENT "clang-tidy ${name}"
    VERBATIM)
endfunction()

set(stamps "")
set(folders "")
foreach(source IN LISTS ALLM_LIB_SOURCES ALLM_STORES_SOURCES ALLM_TESTING_SOURCES ALLM_CLI_SOURCES ALLM_CLI_MAIN ALLM_HELPER_MAIN)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE name)
  set(stamp "${PROJECT_BINARY_DIR}/tidy/${name}.ok")
  allm_tidy("${stamp}" "${source}" "${name}")
  list(APPEND stamps "${stamp}")
  cmake_path(GET name PARENT_PATH folder)
  list(APPEND folders "${folder}")
  list(APPEND includes_${folder} "#include \"${source}\"")
endforeach()
add_custom_target(tidy DEPENDS ${stamps})

# Never built: it adds the folders' files to the compilation database, from which clang-tidy reads their options.
add_library(allm_tidy_folders OBJECT EXCLUDE_FROM_ALL)
target_include_directories(allm_tidy_folders PRIVATE src)
target_link_libraries(allm_tidy_folders PRIVATE allm_lib simdjson::simdjson PkgConfig::RE2 PkgConfig::SECCOMP
  PkgConfig::TOMLPLUSPLUS fmt::fmt CURL::libcurl OpenSSL::SSL SQLite::SQLite3 PostgreSQL::PostgreSQL
  CLI11::CLI11 allm_flags)
target_compile_definitions(allm_tidy_folders PRIVATE
  ALLM_VERSION="${PROJECT_VERSION}" ALLM_INSTALLED_PROGRAMS="${CMAKE_INSTALL_FULL_BINDIR}")
list(REMOVE_DUPLICATES folders)
foreach(folder IN LISTS folders)
  string(REPLACE "/" "_" name "${folder}")
  string(REPLACE ";" "\n" content "${includes_${folder}}")
  set(file "${PROJECT_BINARY_DIR}/tidy/${name}.cpp")
  file(CONFIGURE OUTPUT "${file}" CONTENT "${content}\n" @ONLY)
  target_sources(allm_tidy_folders PRIVATE "${file}")
  set(stamp "${PROJECT_BINARY_DIR}/tidy/${name}.ok")
  allm_tidy("${stamp}" "${file}" "${folder}"
    # The sources are included here, so they count as headers.
    "--header-filter=(^|/)(include/allm|src)/.*\\.[ch]pp$" "--checks=-bugprone-suspicious-include")
  add_custom_target(tidy_${name} DEPENDS "${stamp}")
endforeach()
