# Tests of the pure decision.
set(_decide_library nsatune::tuner)
if(NOT TARGET nsatune::tuner)
  set(_decide_library nsa_decide)
endif()
nsa_add_test(decide
  SOURCES compare_runs_test.cpp decide_boards_test.cpp decide_choice_test.cpp decide_segmentation_test.cpp decide_hysteresis_test.cpp decide_noise_test.cpp
          decide_pairs_test.cpp decide_beyond_test.cpp decide_kept_test.cpp decide_lengths_test.cpp refine_test.cpp decide_nights_test.cpp decide_views_test.cpp
  LIBRARIES ${_decide_library} LABELS tuner)
target_include_directories(test_decide PRIVATE ${PROJECT_SOURCE_DIR}/tuner)
