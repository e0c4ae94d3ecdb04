nsa_add_test(routing LABELS kernels LIBRARIES nsatune::kernels SOURCES
  routing_bundle_test.cpp routing_segmentation_test.cpp routing_environment_test.cpp routing_explain_test.cpp
  routing_hostile_table_test.cpp routing_ladder_test.cpp routing_names_test.cpp
  routing_precedence_test.cpp routing_saving_test.cpp)
# A program of its own: it replaces operator new to count allocations.
nsa_add_test(routing_hot LABELS kernels LIBRARIES nsatune::kernels SOURCES
  routing_allocation_test.cpp routing_speed_test.cpp routing_threads_test.cpp)
nsa_add_test(telemetry LABELS kernels LIBRARIES nsatune::kernels SOURCES
  telemetry_counters_test.cpp telemetry_heartbeat_test.cpp telemetry_reads_test.cpp)
