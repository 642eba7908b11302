# allm_flags: what all of allm's own code is compiled with. It is linked privately and never exported.

add_library(allm_flags INTERFACE)
target_compile_features(allm_flags INTERFACE cxx_std_23)
target_compile_options(allm_flags INTERFACE
  -pthread  # RE2's package asks for it, and all users of one precompiled header need the same
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
  # Designated initialisers that leave the rest to its defaults are how options are written here.
  -Wno-missing-field-initializers)
if(ALLM_WERROR)
  target_compile_options(allm_flags INTERFACE -Werror)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(allm_flags INTERFACE
    # Position-independent code as clang compiles it: functions of the library are inlined into each other.
    -fno-semantic-interposition
    # Flow-based warnings that g++ 12 raises inside its own library once that is inlined into correct code. The
    # sanitizer builds and clang-tidy watch for the real thing.
    -Wno-maybe-uninitialized    # std::optional and std::variant: GCC bug 80635
    -Wno-restrict               # std::string operator+ and assign: GCC bug 105651
    -Wno-dangling-pointer       # locals captured by an inlined callable
    -Wno-array-bounds           # std::string and std::vector growth
    -Wno-stringop-overflow      # the same code, seen by another pass
    -Wno-stringop-overread
    -Wno-free-nonheap-object    # std::string in std::variant
    # Meant for headers; in a unity build sources look like headers.
    $<$<BOOL:${ALLM_UNITY}>:-Wno-subobject-linkage>)
else()
  # clang's -Wconversion includes what g++'s does not.
  target_compile_options(allm_flags INTERFACE -Wno-sign-conversion -Wno-missing-designated-field-initializers)
endif()

if(ALLM_SANITIZE)
  # Directory-wide, because object code with and without a sanitizer must not mix.
  add_compile_options(-fsanitize=${ALLM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ALLM_SANITIZE})
endif()
if(ALLM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "Fuzz targets need clang: use `cmake --preset fuzz`.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# mold links several times as fast as GNU ld, which matters to the forty programs of a full build. It may be missing.
if(PROJECT_IS_TOP_LEVEL)
  find_program(ALLM_MOLD mold)
  if(ALLM_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
