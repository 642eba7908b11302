# Unit tests (one executable for each layer), scenarios and examples.

# clang's sanitizers need this program to print functions and lines.
set(symbolizer "")
find_program(ALLM_SYMBOLIZER NAMES llvm-symbolizer-19 llvm-symbolizer)
if(ALLM_SYMBOLIZER)
  set(symbolizer ":external_symbolizer_path=${ALLM_SYMBOLIZER}")
endif()
set(ALLM_TEST_ENVIRONMENT
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1${symbolizer}"
    "UBSAN_OPTIONS=print_stacktrace=1${symbolizer}"
    "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1${symbolizer}")

# Some sanitizers cannot place their shadow memory if the kernel randomises addresses too much ("unexpected memory
# mapping"). So tests run without address randomisation, where that is allowed.
set(ALLM_TEST_RUNNER "")
if(ALLM_SANITIZE)
  find_program(ALLM_SETARCH setarch)
  if(ALLM_SETARCH)
    execute_process(COMMAND "${ALLM_SETARCH}" -R true RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
      set(ALLM_TEST_RUNNER "${ALLM_SETARCH}" -R)
    endif()
  endif()
endif()

# The time limit of most tests: several times what the slowest takes beside a build on two cores.
set(ALLM_TEST_SECONDS 300)
if(ALLM_SANITIZE MATCHES "thread")
  set(ALLM_TEST_SECONDS 600)
endif()

# allm_add_test(<name> <seconds> <label> <command>...): scripts/run_test.sh keeps the time limit.
function(allm_add_test name seconds label)
  add_test(NAME ${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    COMMAND "${PROJECT_SOURCE_DIR}/scripts/run_test.sh" ${seconds} "${PROJECT_BINARY_DIR}/results/${name}.txt"
            ${ALLM_TEST_RUNNER} ${ARGN})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${ALLM_TEST_ENVIRONMENT}" LABELS ${label})
endfunction()

# allm_add_unit_test_run(<name> <target> <environment>...): a ctest entry that runs the tests of `target`. The result and
# the duration of each test are in results/<name>.json, which scripts/progress.py reads.
function(allm_add_unit_test_run name target)
  allm_add_test(${name} ${ALLM_TEST_SECONDS} unit $<TARGET_FILE:${target}>)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
    "GTEST_OUTPUT=json:${PROJECT_BINARY_DIR}/results/${name}.json" ${ARGN})
endfunction()

function(allm_add_unit_test_executable target)
  add_executable(${target} ${ARGN})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(${target} PRIVATE ALLM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE
    allm_stores_lib allm_testing_lib simdjson::simdjson PkgConfig::RE2 fmt::fmt GTest::gmock_main GTest::gmock GTest::gtest rapidcheck
    OpenSSL::SSL allm_flags)
  allm_use_test_pch(${target})
  allm_use_unity(${target})
endfunction()

# allm_store_rig: the PostgreSQL server of tests (tests/stores/postgres_server.hpp) and a proxy that cuts its connections.
# Test executables that need it link it.
function(allm_add_store_rig)
  add_library(allm_store_rig STATIC EXCLUDE_FROM_ALL
    "${PROJECT_SOURCE_DIR}/tests/stores/postgres_server.cpp" "${PROJECT_SOURCE_DIR}/tests/stores/cutting_proxy.cpp")
  target_compile_features(allm_store_rig PUBLIC cxx_std_23)
  target_include_directories(allm_store_rig PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(allm_store_rig PRIVATE PostgreSQL::PostgreSQL Threads::Threads allm_flags)
endfunction()

function(allm_add_unit_tests)
  allm_add_store_rig()
  foreach(layer IN LISTS ALLM_TEST_LAYERS)
    allm_add_unit_test_executable(allm_${layer}_test ${ALLM_TEST_SOURCES_${layer}})
    allm_add_unit_test_run(allm_${layer}_test allm_${layer}_test)
  endforeach()
  if(TARGET allm_cli_test AND TARGET allm_cli_lib)
    target_link_libraries(allm_cli_test PRIVATE allm_cli_lib)
  endif()
  if(TARGET allm_stores_test)
    target_link_libraries(allm_stores_test PRIVATE allm_store_rig PostgreSQL::PostgreSQL)
  endif()

  # tests/ and tests/attack/: one executable from all files there. overdue_test.cpp has handlers that never return, so it
  # is an executable of its own.
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*.cpp" "${PROJECT_SOURCE_DIR}/tests/attack/*.cpp")
  set(overdue "${PROJECT_SOURCE_DIR}/tests/overdue_test.cpp")
  list(REMOVE_ITEM sources "${overdue}")
  if(sources)
    allm_add_unit_test_executable(allm_tests ${sources})
    if(TARGET allm_cli)
      target_compile_definitions(allm_tests PRIVATE ALLM_COMMAND="$<TARGET_FILE:allm_cli>")
      add_dependencies(allm_tests allm_cli)
    endif()
    # It takes longest by far, so it starts first, in four parts that run in parallel.
    foreach(part RANGE 1 4)
      math(EXPR index "${part} - 1")
      allm_add_unit_test_run(allm_tests_${part}_of_4 allm_tests GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=${index})
      set_tests_properties(allm_tests_${part}_of_4 PROPERTIES COST 100)
    endforeach()
  endif()
  if(EXISTS "${overdue}")
    allm_add_unit_test_executable(allm_overdue_test "${overdue}")
    allm_add_unit_test_run(allm_overdue_test allm_overdue_test)
  endif()
  # tests/validators/: the rules of the providers for requests, and a session that is moved between all of them.
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/validators/*.cpp")
  allm_add_unit_test_executable(allm_validator_tests ${sources})
  allm_add_unit_test_run(allm_validator_tests allm_validator_tests)
  # tests/commands/: the command as real processes.
  if(TARGET allm_cli)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/commands/*.cpp")
    allm_add_unit_test_executable(allm_command_tests ${sources} "${PROJECT_SOURCE_DIR}/tests/http_server.cpp")
    target_compile_definitions(allm_command_tests PRIVATE ALLM_COMMAND="$<TARGET_FILE:allm_cli>")
    target_link_libraries(allm_command_tests PRIVATE allm_store_rig)
    add_dependencies(allm_command_tests allm_cli)
    # A worker that gives up what it runs exits while threads still run, which is not a leak.
    allm_add_unit_test_run(allm_command_tests allm_command_tests "TSAN_OPTIONS=report_thread_leaks=0:halt_on_error=1")
  endif()
  # tests/budget/: a budget of a store that several processes share. Its main is also that of these processes, which are
  # killed or exit while threads of their pool still run.
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/budget/*.cpp")
  allm_add_unit_test_executable(allm_budget_tests ${sources})
  target_link_libraries(allm_budget_tests PRIVATE allm_store_rig PostgreSQL::PostgreSQL)
  allm_add_unit_test_run(allm_budget_tests allm_budget_tests "TSAN_OPTIONS=report_thread_leaks=0:halt_on_error=1")
  allm_add_soak()
  allm_add_lane_tests()
  allm_add_kill_matrix()
  # tests/contest/: processes that compete for sessions of one store. The tests start their own executable again.
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/contest/*.cpp")
  allm_add_unit_test_executable(allm_contest_tests ${sources})
  target_link_libraries(allm_contest_tests PRIVATE allm_store_rig PostgreSQL::PostgreSQL)
  allm_add_unit_test_run(allm_contest_tests allm_contest_tests)
  allm_add_compile_failure_tests()
  allm_add_foreign_driver()
endfunction()

# tests/attack/soak/: threads of random operations, and programs that exit in the middle of them. ALLM_SOAK_SECONDS is the
# time of the first; ALLM_TEST_SCALE multiplies the number of programs.
function(allm_add_soak)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/attack/soak/*.cpp")
  add_executable(allm_soak ${sources} "${PROJECT_SOURCE_DIR}/tests/http_server.cpp")
  set_target_properties(allm_soak PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_include_directories(allm_soak PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(allm_soak PRIVATE allm_testing_lib Threads::Threads OpenSSL::SSL allm_flags)
  allm_use_program_pch(allm_soak)
  allm_use_single_unity(allm_soak)
  allm_add_test(allm_soak ${ALLM_TEST_SECONDS} unit $<TARGET_FILE:allm_soak>)
  allm_add_test(allm_soak_exits ${ALLM_TEST_SECONDS} unit $<TARGET_FILE:allm_soak> --exits 10)
  # The program may exit between the end of a thread and the join with it, which is not a leak.
  string(REPLACE "TSAN_OPTIONS=" "TSAN_OPTIONS=report_thread_leaks=0:" environment "${ALLM_TEST_ENVIRONMENT}")
  set_tests_properties(allm_soak allm_soak_exits PROPERTIES ENVIRONMENT "${environment}")
endfunction()

# tests/kill/: a program that is killed while it runs sessions on a store, and the program that kills it. ALLM_TEST_SCALE
# multiplies the number of kills.
function(allm_add_kill_matrix)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/kill/*.cpp")
  add_executable(allm_kill_matrix ${sources})
  set_target_properties(allm_kill_matrix PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_include_directories(allm_kill_matrix PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(allm_kill_matrix PRIVATE
    allm_stores_lib allm_testing_lib allm_store_rig Threads::Threads allm_flags)
  allm_use_program_pch(allm_kill_matrix)
  allm_add_test(allm_kill_matrix 1800 unit $<TARGET_FILE:allm_kill_matrix>)
  set_tests_properties(allm_kill_matrix PROPERTIES COST 150)
endfunction()

# tests/foreign/: the program through which `make foreign` calls models. Only that job builds it.
function(allm_add_foreign_driver)
  add_executable(allm_foreign_driver EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tests/foreign/driver.cpp")
  set_target_properties(allm_foreign_driver PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(allm_foreign_driver PRIVATE allm_lib Threads::Threads allm_flags)
  allm_use_program_pch(allm_foreign_driver)
endfunction()

# tests/compile_failures/: files that must not compile. The compiler's message must contain the text of their first line,
# "// expects: ...".
function(allm_add_compile_failure_tests)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/compile_failures/*.cpp")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    file(STRINGS "${source}" expected LIMIT_COUNT 1)
    string(REPLACE "// expects: " "" expected "${expected}")
    add_test(NAME compile_failure_${name}
      COMMAND "${CMAKE_CXX_COMPILER}" -std=c++23 -fsyntax-only -I "${PROJECT_SOURCE_DIR}/include" "${source}")
    set_tests_properties(compile_failure_${name} PROPERTIES
      PASS_REGULAR_EXPRESSION "${expected}" TIMEOUT 300 LABELS unit)
  endforeach()
endfunction()

# tests/lanes/ and tests/attack/lanes/: tools in processes of their own. Their main calls run_as_worker_if_asked, so they
# are an executable of their own. The tests run allm_misbehave as a command and as a program that is killed. The attacks
# run twice in the release build if this user is root: what holds against root differs from what holds against others.
function(allm_add_lane_tests)
  set(folder "${PROJECT_SOURCE_DIR}/tests/lanes")
  add_executable(allm_misbehave
    "${folder}/programs/misbehave.cpp" "${folder}/programs/attacked.cpp" "${folder}/misbehaviour.cpp"
    "${folder}/test_tools.cpp" "${PROJECT_SOURCE_DIR}/tests/attack/lanes/hostile_processes.cpp")
  set_target_properties(allm_misbehave PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_include_directories(allm_misbehave PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(allm_misbehave PRIVATE ALLM_MISBEHAVE="$<TARGET_FILE:allm_misbehave>")
  target_link_libraries(allm_misbehave PRIVATE allm_lib Threads::Threads allm_flags)
  allm_use_program_pch(allm_misbehave)
  allm_use_single_unity(allm_misbehave)
  # A program whose main does not call run_as_worker_if_asked.
  add_executable(allm_host "${folder}/programs/host.cpp")
  set_target_properties(allm_host PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(allm_host PRIVATE allm_lib Threads::Threads allm_flags)
  allm_use_program_pch(allm_host)
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp" "${PROJECT_SOURCE_DIR}/tests/attack/lanes/*.cpp")
  allm_add_unit_test_executable(allm_lane_tests ${sources})
  target_compile_definitions(allm_lane_tests PRIVATE
    ALLM_HOST="$<TARGET_FILE:allm_host>" ALLM_HELPER_PROGRAM="$<TARGET_FILE:allm_helper>")
  add_dependencies(allm_lane_tests allm_host allm_helper)
  target_compile_definitions(allm_lane_tests PRIVATE ALLM_MISBEHAVE="$<TARGET_FILE:allm_misbehave>")
  add_dependencies(allm_lane_tests allm_misbehave)
  allm_add_unit_test_run(allm_lane_tests allm_lane_tests)
  set_tests_properties(allm_lane_tests PROPERTIES COST 200)
  if(ALLM_SANITIZE)
    return()
  endif()
  allm_add_test(allm_lane_attacks_unprivileged ${ALLM_TEST_SECONDS} unit
    "${PROJECT_SOURCE_DIR}/scripts/unprivileged.sh" $<TARGET_FILE:allm_lane_tests> --gtest_filter=Attack*)
  set_property(TEST allm_lane_attacks_unprivileged APPEND PROPERTY ENVIRONMENT
    "RESULTS=${PROJECT_BINARY_DIR}/results/allm_lane_attacks_unprivileged.json")
  set_tests_properties(allm_lane_attacks_unprivileged PROPERTIES COST 150)
endfunction()

function(allm_add_scenario_test)
  if(TARGET allm_cli AND IS_DIRECTORY "${PROJECT_SOURCE_DIR}/tests/scenarios")
    allm_add_test(scenarios ${ALLM_TEST_SECONDS} scenario $<TARGET_FILE:allm_cli> scenario tests/scenarios)
    allm_add_test(scenarios_in_workers ${ALLM_TEST_SECONDS} scenario
      $<TARGET_FILE:allm_cli> scenario --lane worker tests/scenarios tests/scenarios-isolated)
  endif()
endfunction()

function(allm_add_transcript_test)
  if(TARGET allm_cli AND IS_DIRECTORY "${PROJECT_SOURCE_DIR}/tests/transcripts")
    allm_add_test(transcripts ${ALLM_TEST_SECONDS} scenario $<TARGET_FILE:allm_cli> transcript tests/transcripts)
  endif()
endfunction()

# examples/01_x.cpp is the target example_01_x, examples/short/1_x.cpp is example_short_1_x.
function(allm_add_examples)
  file(GLOB sources CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/examples/[0-9]*_*.cpp" "${PROJECT_SOURCE_DIR}/examples/short/[0-9]*_*.cpp")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    if(source MATCHES "/examples/short/")
      string(PREPEND name short_)
    endif()
    set(target example_${name})
    add_executable(${target} "${source}")
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
    target_link_libraries(${target} PRIVATE allm_testing_lib Threads::Threads allm_flags)  # only what a user links
    if(name MATCHES "_(resume|shared_budget)$")
      target_link_libraries(${target} PRIVATE allm_stores_lib)
    endif()
    allm_use_program_pch(${target})
    allm_add_test(${target} 120 example $<TARGET_FILE:${target}>)
  endforeach()
endfunction()
