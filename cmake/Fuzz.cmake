# Each fuzz/<name>_fuzz.cpp is a libFuzzer executable <name>_fuzz. Its seeds, if any, are in fuzz/corpus/<name>/.

file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cpp")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM target)
  add_executable(${target} "${source}")
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PRIVATE allm_testing_lib simdjson::simdjson fmt::fmt Threads::Threads allm_flags)
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  allm_use_pch(${target})
endforeach()
