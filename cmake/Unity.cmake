# Unity builds: the sources of one folder are compiled as one file, because most of the compile time of a small file goes
# into the headers that it includes. So a name may occur only once in the anonymous namespaces of a folder. Folders never
# share a file, so a change recompiles only its own folder.

function(allm_use_unity target)
  if(NOT ALLM_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${source}" NORMALIZE ours)
    if(NOT ours)
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    file(RELATIVE_PATH group "${PROJECT_SOURCE_DIR}" "${folder}")
    string(REPLACE "/" "_" group "${group}")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# allm_use_single_unity(<target>): compiles all sources of a small program as one file, whatever their folders.
function(allm_use_single_unity target)
  if(ALLM_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE 0)
  endif()
endfunction()
