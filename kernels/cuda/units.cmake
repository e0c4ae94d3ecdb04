# Translation units that CUDA rows share, for their lists (nsa_variant_sources). Each set holds those
# that its own call.
set(_cuda ${CMAKE_CURRENT_LIST_DIR})
set(NSA_WORKSPACE ${CMAKE_CURRENT_LIST_DIR}/../catalog/workspace.cpp)

# Attention; the second where TMA brings the keys.
set(NSA_CUDA_ATTEND ${_cuda}/flash/attend_params.cpp ${_cuda}/memory/shared_memory.cpp)
set(NSA_CUDA_BAND ${_cuda}/flash/tensor_map.cpp ${NSA_CUDA_ATTEND})
# Copies of tensors that a kernel cannot read as they lie.
set(NSA_CUDA_COPY ${_cuda}/memory/copy_rows.cu ${_cuda}/memory/shared_memory.cpp)
# Products.
set(NSA_CUDA_GEMM ${_cuda}/gemm/gemm.cpp ${_cuda}/gemm/gemv.cu ${_cuda}/gemm/cublas_lt.cpp
                  ${_cuda}/memory/shared_memory.cpp ${_cuda}/library/open_library.cpp
                  ${NSA_WORKSPACE})
