# The attention of the three branches, and the SIMD core, threads and conversions below it.
nsa_add_test(attend LABELS kernels LIBRARIES nsatune::kernels SOURCES
  attend_isolation_test.cpp attend_random_test.cpp attend_score_test.cpp attend_selection_test.cpp
  attend_workspace_test.cpp)
nsa_add_test(cpu_core LABELS kernels LIBRARIES nsatune::kernels hwy::hwy PkgConfig::OPENBLAS SOURCES
  attend_convert_test.cpp attend_parallel_test.cpp attend_simd_test.cpp)
foreach(program attend cpu_core)
  target_include_directories(test_${program} PRIVATE ${PROJECT_SOURCE_DIR}/kernels)
endforeach()
