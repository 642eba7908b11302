# Rules for cmake --install: headers, libraries, the package `allm` for find_package with its components `stores` and `testing`, the
# command with its man pages and completion scripts, and allm-helper.

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/allm")

install(TARGETS allm_lib EXPORT allmTargets ARCHIVE LIBRARY FILE_SET HEADERS)
install(EXPORT allmTargets NAMESPACE allm:: DESTINATION "${package_dir}")
install(TARGETS allm_stores_lib EXPORT allmStoresTargets
  ARCHIVE COMPONENT stores LIBRARY COMPONENT stores FILE_SET HEADERS COMPONENT stores)
install(EXPORT allmStoresTargets NAMESPACE allm:: DESTINATION "${package_dir}" COMPONENT stores)
# A separate install component, so that a package of allm can leave it out: cmake --install build --component testing
install(TARGETS allm_testing_lib EXPORT allmTestingTargets
  ARCHIVE COMPONENT testing LIBRARY COMPONENT testing FILE_SET HEADERS COMPONENT testing)
install(EXPORT allmTestingTargets NAMESPACE allm:: DESTINATION "${package_dir}" COMPONENT testing)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/allmConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/allmConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/allmConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/allmConfig.cmake" "${PROJECT_BINARY_DIR}/allmConfigVersion.cmake"
  DESTINATION "${package_dir}")

# A relative path to the shared libraries, so that the installed folder can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_FULL_BINDIR}" OUTPUT_VARIABLE path)
foreach(program IN ITEMS allm_helper allm_cli)
  if(TARGET ${program})
    if(BUILD_SHARED_LIBS)
      set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${path}")
    endif()
    install(TARGETS ${program} RUNTIME)
  endif()
endforeach()
if(TARGET allm_command_texts)
  install(DIRECTORY "${ALLM_COMMAND_TEXTS}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  install(FILES "${ALLM_COMMAND_TEXTS}/bash" RENAME allm
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${ALLM_COMMAND_TEXTS}/zsh" RENAME _allm DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${ALLM_COMMAND_TEXTS}/fish" RENAME allm.fish
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()
if(EXISTS "${PROJECT_SOURCE_DIR}/LICENSE")
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()
