nsa_add_test(runtime SOURCES runtime_model_test.cpp runtime_properties_test.cpp
             LIBRARIES nsatune::kernels LABELS kernels)
