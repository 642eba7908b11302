# Uses ccache if it is installed. It makes the build faster.

if(ALLM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(ALLM_CCACHE_PROGRAM ccache)
  if(ALLM_CCACHE_PROGRAM)
    # ccache's manual requires these sloppiness settings for precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${ALLM_CCACHE_PROGRAM}")
  endif()
endif()
