# The command allm. src/cli without main.cpp is a library of its own, so that tests can link it.

add_library(allm_cli_lib STATIC EXCLUDE_FROM_ALL ${ALLM_CLI_SOURCES})
target_include_directories(allm_cli_lib PUBLIC src)
target_link_libraries(allm_cli_lib PUBLIC allm_stores_lib allm_testing_lib fmt::fmt PRIVATE CLI11::CLI11 allm_flags)
allm_use_pch(allm_cli_lib)
allm_use_unity(allm_cli_lib)

add_executable(allm_cli "${ALLM_CLI_MAIN}")
set_target_properties(allm_cli PROPERTIES OUTPUT_NAME allm RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
target_compile_definitions(allm_cli PRIVATE ALLM_VERSION="${PROJECT_VERSION}")
target_link_libraries(allm_cli PRIVATE allm_cli_lib allm_flags)
allm_use_pch(allm_cli)

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
    DEPENDS allm_cli COMMENT "Man pages and completion scripts" VERBATIM)
  add_custom_target(allm_command_texts ALL DEPENDS "${stamp}")
endif()
