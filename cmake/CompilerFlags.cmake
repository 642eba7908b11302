# allm_flags: the compiler options of all of allm's own code. It is linked privately and never exported.

add_library(allm_flags INTERFACE)
target_compile_features(allm_flags INTERFACE cxx_std_23)
target_compile_options(allm_flags INTERFACE
  -pthread  # RE2's package adds it, and all users of a precompiled header need the same options
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
  # Options are written as designated initialisers that leave out fields with defaults.
  -Wno-missing-field-initializers)
if(ALLM_WERROR)
  target_compile_options(allm_flags INTERFACE -Werror)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(allm_flags INTERFACE
    # As clang does by default: functions of a shared library may be inlined into each other.
    -fno-semantic-interposition
    # False warnings of g++ 12 about its own standard library after inlining. The sanitizer builds and clang-tidy find
    # real errors of these kinds.
    -Wno-maybe-uninitialized    # std::optional and std::variant: GCC bug 80635
    -Wno-restrict               # std::string operator+ and assign: GCC bug 105651
    -Wno-dangling-pointer       # locals captured by an inlined callable
    -Wno-array-bounds           # std::string and std::vector growth
    -Wno-stringop-overflow      # the same code, in another compiler pass
    -Wno-stringop-overread
    -Wno-free-nonheap-object    # std::string in std::variant
    # A warning for headers; in a unity build, sources are included like headers.
    $<$<BOOL:${ALLM_UNITY}>:-Wno-subobject-linkage>)
else()
  # clang's -Wconversion includes -Wsign-conversion, g++'s does not.
  target_compile_options(allm_flags INTERFACE -Wno-sign-conversion -Wno-missing-designated-field-initializers)
endif()

if(ALLM_SANITIZE)
  # For all targets, because object code with and without a sanitizer must not be mixed.
  add_compile_options(-fsanitize=${ALLM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ALLM_SANITIZE})
endif()
if(ALLM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "Fuzz targets need clang: use `cmake --preset fuzz`.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# mold, if it is installed, links several times as fast as GNU ld. A full build links about forty programs.
if(PROJECT_IS_TOP_LEVEL)
  find_program(ALLM_MOLD mold)
  if(ALLM_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
