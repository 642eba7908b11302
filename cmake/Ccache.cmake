# ccache, which only makes the build faster and may be missing.

if(ALLM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(ALLM_CCACHE_PROGRAM ccache)
  if(ALLM_CCACHE_PROGRAM)
    # The sloppiness is what ccache's manual asks for with precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${ALLM_CCACHE_PROGRAM}")
  endif()
endif()
