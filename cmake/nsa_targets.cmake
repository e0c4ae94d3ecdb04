# How our targets are made: one warnings target, one sanitizer setting, one form of test.

# A compiler cache where there is one; -D NSA_CCACHE= turns it off. Paths below the source folder count as relative, so
# that another clone finds what this one compiled, but for what includes precompiled headers: those hold paths. With
# these ccache has to be told that their macros are what they were.
find_program(NSA_CCACHE ccache)
mark_as_advanced(NSA_CCACHE)
if(NSA_CCACHE AND PROJECT_IS_TOP_LEVEL)
  foreach(language CXX CUDA)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
          CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
          CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
          ${NSA_CCACHE})
    endif()
  endforeach()
endif()
if(NSA_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # what ccache needs
endif()

if(NSA_PACKAGE)  # where it was built is in no package
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>)
endif()

add_library(nsa_warnings INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  # GCC 12 and 13 see overlaps and bounds in std::string's operator+ that are not there (GCC bug 105651).
  target_compile_options(nsa_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
    -Wno-stringop-overread>)
endif()
target_compile_options(nsa_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${NSA_WERROR}>>:-Werror>)

# When a test counts as hanging. Sanitizers make the slowest ones take minutes, more where others use the machine.
set(NSA_TEST_SECONDS 300)
if(NSA_SANITIZE)
  set(NSA_TEST_SECONDS 1500)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${NSA_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=${NSA_SANITIZE})
  find_program(NSA_LLD ld.lld)
  if(NSA_LLD)  # the programs are large, and there are sixty
    add_link_options(-fuse-ld=lld)
  endif()
endif()
if(NSA_FUZZ)  # the fuzzer sees which branches of the libraries an input takes
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()

# Most of a compilation is the parsing of a few large headers: each target parses them once.
function(nsa_precompile target)
  if(NSA_PCH)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <cstdint> <functional> <map>
      <memory> <optional> <span> <string> <string_view> <vector> ${ARGN})
  endif()
endfunction()

# Templates that several files use are instantiated once for all of them, so names in unnamed namespaces have
# to differ within a library. Kernels stay apart: the hash of a variant is that of the files that it is
# compiled from. So do probes, each of which declares the functions of its driver library anew.
function(nsa_compile_together target)
  if(NSA_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()

# nsa_add_library(<name> SOURCES <files> [PUBLIC <libraries>] [PRIVATE <libraries>]
#                 [PRECOMPILE <headers>])
# A static library nsa_<name>, alias nsatune::<name>, whose public headers are in ./include.
function(nsa_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE;PRECOMPILE" ${ARGN})
  add_library(nsa_${name} STATIC ${ARG_SOURCES})
  add_library(nsatune::${name} ALIAS nsa_${name})
  set_target_properties(nsa_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(nsa_${name} PUBLIC cxx_std_20)
  target_include_directories(nsa_${name}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(nsa_${name} PUBLIC ${ARG_PUBLIC}
                        PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:nsa_warnings>)
  nsa_precompile(nsa_${name} ${ARG_PRECOMPILE})
  if(NOT name MATCHES "^(kernels|probes)$")
    nsa_compile_together(nsa_${name})
  endif()
endfunction()

# nsa_add_test(<name> SOURCES <files> [LIBRARIES <libraries>] LABELS <labels>)
# One Catch2 program, registered with ctest one test case at a time.
function(nsa_add_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(NOT ARG_LABELS)  # Catch2 drops an empty one, and TIMEOUT would be taken for the label
    message(FATAL_ERROR "test_${name}: has no LABELS")
  endif()
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE nsa_test_main nsa_warnings ${ARG_LIBRARIES})
  if(NSA_PCH)
    target_precompile_headers(test_${name} REUSE_FROM nsa_test_pch)
  endif()
  set_target_properties(test_${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  # A test that leaves itself out says why in WARN("skipped: ..."); one that fails is no skip.
  catch_discover_tests(test_${name} TEST_PREFIX "${name}: " DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${NSA_TEST_SECONDS}
                       SKIP_REGULAR_EXPRESSION "skipped: .*(All tests passed|- none -)")
endfunction()

# nsa_add_fuzz_target(<name> SOURCES ... LIBRARIES ...): a libFuzzer program, with NSA_FUZZ only; part
# of the target fuzz_targets.
function(nsa_add_fuzz_target name)
  if(NOT NSA_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} nsa_warnings)
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  if(NOT TARGET fuzz_targets)
    add_custom_target(fuzz_targets)
  endif()
  add_dependencies(fuzz_targets ${name})
endfunction()
