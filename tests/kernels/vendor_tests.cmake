nsa_add_test(kernels_vendor SOURCES vendor_test.cpp LIBRARIES nsatune::kernels LABELS kernels)
target_include_directories(test_kernels_vendor PRIVATE ${PROJECT_SOURCE_DIR}/kernels)
