# Translation units that CUDA rows share, for their lists (nsa_variant_sources). Each set holds those
# that its own call.
set(_cuda ${CMAKE_CURRENT_LIST_DIR})
set(NSA_WORKSPACE ${CMAKE_CURRENT_LIST_DIR}/../catalog/workspace.cpp)

# Attention; the second where Hopper's copy engine brings the keys.
set(NSA_CUDA_ATTEND ${_cuda}/attend_params.cpp ${_cuda}/shared_memory.cpp)
set(NSA_CUDA_BAND ${_cuda}/tensor_map.cpp ${NSA_CUDA_ATTEND})
# Copies of tensors that a kernel cannot read as they lie.
set(NSA_CUDA_COPY ${_cuda}/copy_rows.cu ${_cuda}/shared_memory.cpp)
# Products.
set(NSA_CUDA_GEMM ${_cuda}/gemm.cpp ${_cuda}/gemv.cu ${_cuda}/cublas_lt.cpp
                  ${_cuda}/shared_memory.cpp ${_cuda}/../vendor/open_library.cpp ${NSA_WORKSPACE})
