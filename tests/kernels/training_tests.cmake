# A training step: its operations, the whole of it, checkpoints, the memory model.
nsa_add_test(training
  SOURCES both_passes_test.cpp training_checkpoint_test.cpp training_memory_test.cpp training_ops_test.cpp
          training_reference.cpp training_step_test.cpp
  LIBRARIES nsatune::kernels LABELS kernels)
target_include_directories(test_training PRIVATE ${PROJECT_SOURCE_DIR}/kernels)
