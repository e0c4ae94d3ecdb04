# How our targets are made: one warnings target, one sanitizer setting, one form of test.

add_library(nsa_warnings INTERFACE)
target_compile_options(nsa_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${NSA_WERROR}>>:-Werror>)

if(NSA_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${NSA_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=${NSA_SANITIZE})
endif()

# nsa_add_library(<name> SOURCES <files> [PUBLIC <libraries>] [PRIVATE <libraries>])
# A static library nsa_<name>, alias nsatune::<name>, whose public headers are in ./include.
function(nsa_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
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
endfunction()

# nsa_add_test(<name> SOURCES <files> [LIBRARIES <libraries>] [LABELS <labels>])
# One Catch2 program, registered with ctest one test case at a time.
function(nsa_add_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE nsa_test_main nsa_warnings ${ARG_LIBRARIES})
  set_target_properties(test_${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  catch_discover_tests(test_${name} TEST_PREFIX "${name}: " DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 300)
endfunction()
