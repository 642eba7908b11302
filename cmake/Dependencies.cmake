# What the library needs. Test, bench and command-line packages are looked for only when they are used.
# A package added here for the library belongs into cmake/allmConfig.cmake.in and scripts/setup.sh as well.

find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
find_package(CURL 7.88 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)  # Debian ships no CMake package for it
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)

if(ALLM_CLI)
  find_package(CLI11 REQUIRED)
endif()
if(ALLM_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  find_package(OpenSSL REQUIRED)  # the tests' own HTTPS server
endif()
if(ALLM_BENCH)
  find_package(benchmark REQUIRED)
  find_package(OpenSSL REQUIRED)  # the server of the tests
endif()
