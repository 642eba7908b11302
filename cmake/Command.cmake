# The command allm. The program itself only prints its version and loads the library allm-command.so, which contains the
# commands: loading libcurl, libpq and their forty libraries takes several times as long as starting a program.

# src/cli without main.cpp and entry.cpp is a library of its own, so that tests can link it.
set(entry "${PROJECT_SOURCE_DIR}/src/cli/entry.cpp")
set(sources ${ALLM_CLI_SOURCES})
list(REMOVE_ITEM sources "${entry}")
add_library(allm_cli_lib STATIC EXCLUDE_FROM_ALL ${sources})
target_include_directories(allm_cli_lib PUBLIC src)
target_link_libraries(allm_cli_lib PUBLIC allm_stores_lib allm_testing_lib fmt::fmt PRIVATE CLI11::CLI11 allm_flags)
allm_use_pch(allm_cli_lib)
allm_use_unity(allm_cli_lib)

add_library(allm_command MODULE "${entry}")
set_target_properties(allm_command PROPERTIES PREFIX "" OUTPUT_NAME allm-command
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}" CXX_VISIBILITY_PRESET default)
target_compile_definitions(allm_command PRIVATE ALLM_VERSION="${PROJECT_VERSION}")
target_link_libraries(allm_command PRIVATE allm_cli_lib allm_flags)
allm_use_pch(allm_command)

add_executable(allm_cli "${ALLM_CLI_MAIN}")
set_target_properties(allm_cli PROPERTIES OUTPUT_NAME allm RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}"
  BUILD_RPATH "$ORIGIN")
target_include_directories(allm_cli PRIVATE src)
target_compile_definitions(allm_cli PRIVATE ALLM_VERSION="${PROJECT_VERSION}")
target_link_libraries(allm_cli PRIVATE ${CMAKE_DL_LIBS} allm_flags)
add_dependencies(allm_cli allm_command)

# The man pages and completion scripts are made by the command itself.
set(ALLM_COMMAND_TEXTS "${PROJECT_BINARY_DIR}/command-texts")
if(NOT CMAKE_CROSSCOMPILING)
  set(stamp "${ALLM_COMMAND_TEXTS}/stamp")
  set(commands COMMAND "${CMAKE_COMMAND}" -E rm -rf "${ALLM_COMMAND_TEXTS}"
    COMMAND allm_cli man "${ALLM_COMMAND_TEXTS}/man")
  foreach(shell IN ITEMS bash zsh fish)
    list(APPEND commands COMMAND allm_cli completion ${shell} > "${ALLM_COMMAND_TEXTS}/${shell}")
  endforeach()
  add_custom_command(OUTPUT "${stamp}" ${commands} COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS allm_cli allm_command COMMENT "Man pages and completion scripts" VERBATIM)
  add_custom_target(allm_command_texts ALL DEPENDS "${stamp}")
endif()
