# Source hashes: what is scanned, against what was compiled and what is in the objects.
nsa_add_test(source_hash LABELS kernels LIBRARIES nsatune::kernels nsa_source_scan SOURCES
  source_hash_files_test.cpp source_hash_lists_test.cpp source_hash_objects.cpp
  source_hash_scan_test.cpp source_hash_support.cpp source_hash_symbols_test.cpp
  source_hash_tool_test.cpp)
set(objects ${CMAKE_CURRENT_BINARY_DIR}/kernel_objects.txt)
target_compile_definitions(test_source_hash PRIVATE
  NSA_GENERATOR="${CMAKE_GENERATOR}" NSA_MAKE_PROGRAM="${CMAKE_MAKE_PROGRAM}" NSA_NM="${CMAKE_NM}"
  NSA_KERNEL_OBJECTS="${objects}" NSA_SOURCE_HASH="$<TARGET_FILE:nsa_source_hash>")
add_dependencies(test_source_hash nsa_source_hash)
set(all "$<TARGET_OBJECTS:nsa_kernels>")
if(TARGET nsa_kernels_sm90a)
  string(APPEND all ";$<TARGET_OBJECTS:nsa_kernels_sm90a>")
endif()
# Without the precompiled header, which is listed as one.
file(GENERATE OUTPUT ${objects} CONTENT "$<JOIN:$<FILTER:${all},INCLUDE,\\.o$>,\n>\n")
