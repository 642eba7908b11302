# allm_bench: Google Benchmark with its usual flags. allm_http_bench: comparison with bare libcurl on a local server.
# allm_lane_bench: the cost of a tool call in each lane. allm_store_bench: the cost of session stores.

file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.cpp")
if(sources)
  add_executable(allm_bench ${sources})
  set_target_properties(allm_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  target_include_directories(allm_bench PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(allm_bench PRIVATE ALLM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(allm_bench PRIVATE
    allm_testing_lib simdjson::simdjson PkgConfig::RE2 fmt::fmt benchmark::benchmark_main benchmark::benchmark Threads::Threads
    allm_flags)
  allm_use_pch(allm_bench)
  allm_use_single_unity(allm_bench)
endif()

file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/http/*.cpp")
if(sources)
  # With the HTTP server of the tests, compiled with the flags of a benchmark.
  add_executable(allm_http_bench ${sources}
    "${PROJECT_SOURCE_DIR}/bench/streams.cpp"
    "${PROJECT_SOURCE_DIR}/tests/http_server.cpp" "${PROJECT_SOURCE_DIR}/tests/http2_front.cpp")
  set_target_properties(allm_http_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  target_include_directories(allm_http_bench PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(allm_http_bench PRIVATE
    allm_lib CURL::libcurl OpenSSL::SSL fmt::fmt Threads::Threads allm_flags)
  allm_use_pch(allm_http_bench)
  allm_use_single_unity(allm_http_bench)
endif()

file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/lanes/*.cpp")
if(sources)
  add_executable(allm_lane_bench ${sources})
  set_target_properties(allm_lane_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  target_link_libraries(allm_lane_bench PRIVATE allm_lib fmt::fmt Threads::Threads allm_flags)
  allm_use_pch(allm_lane_bench)
  allm_use_single_unity(allm_lane_bench)
endif()

file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/stores/*.cpp")
if(sources)
  # With the PostgreSQL server of the tests.
  add_executable(allm_store_bench ${sources} "${PROJECT_SOURCE_DIR}/tests/stores/postgres_server.cpp")
  set_target_properties(allm_store_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  target_include_directories(allm_store_bench PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/bench")
  target_link_libraries(allm_store_bench PRIVATE
    allm_stores_lib allm_testing_lib PostgreSQL::PostgreSQL fmt::fmt Threads::Threads allm_flags)
  allm_use_pch(allm_store_bench)
endif()
