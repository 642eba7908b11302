# The packages that the library needs. Packages for tests, benchmarks and the command are searched only if they are used.
# A package for the library must also be in cmake/allmConfig.cmake.in and scripts/setup.sh.

find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
find_package(CURL 7.88 REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)  # the TLS library of curl, which allm limits; also for the HTTPS server of the tests
find_package(SQLite3 3.40 REQUIRED)
find_package(PostgreSQL 15 REQUIRED)  # libpq
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
endif()
if(ALLM_BENCH)
  find_package(benchmark REQUIRED)
endif()
