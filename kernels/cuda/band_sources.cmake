# NSA_CUDA_BAND: what launches the kernels of a band of keys (the window, the compressed branch).
set(NSA_CUDA_BAND ${CMAKE_CURRENT_LIST_DIR}/attend_params.cpp
                  ${CMAKE_CURRENT_LIST_DIR}/tensor_map.cpp)
