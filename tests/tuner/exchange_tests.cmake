# Tests of the formats of other programs.
nsa_add_test(exchange
  SOURCES exchange_support.cpp exchange_foreign_test.cpp exchange_fuzz_test.cpp exchange_header_test.cpp
          exchange_import_test.cpp exchange_round_trip_test.cpp exchange_users_test.cpp
          ../store/support.cpp ../schemas/filled.cpp
  LIBRARIES nsatune::exchange LABELS tuner)
target_compile_definitions(test_exchange PRIVATE NSA_HOST_CXX="${CMAKE_CXX_COMPILER}")
# Foreign tools read what we write: left out, with the reason, where they are not installed.
add_test(NAME "exchange: Kernel Tuner takes what is exported"
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/exchange_kernel_tuner.py
                 $<TARGET_FILE:nsatune>)
set_tests_properties("exchange: Kernel Tuner takes what is exported" PROPERTIES
  LABELS tuner SKIP_RETURN_CODE 77 TIMEOUT 300)
