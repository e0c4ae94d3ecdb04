# Translation units that CUDA rows share, for their lists (nsa_variant_sources). Each set holds those
# that its own call.
set(_cuda ${CMAKE_CURRENT_LIST_DIR})
set(NSA_WORKSPACE ${CMAKE_CURRENT_LIST_DIR}/../catalog/workspace.cpp)

# Attention; the second where TMA brings the keys.
set(NSA_CUDA_ATTEND ${_cuda}/flash/attend_params.cpp ${_cuda}/memory/shared_memory.cpp)
set(NSA_CUDA_BAND ${_cuda}/flash/tensor_map.cpp ${NSA_CUDA_ATTEND})
# The backward pass of attention: what every storage type needs, a band of keys, and listed blocks.
set(NSA_CUDA_BACKWARD ${_cuda}/backward/params.cpp ${_cuda}/backward/row_stats.cu
                      ${_cuda}/backward/sum_keys.cu ${_cuda}/backward/fp32.cu
                      ${NSA_CUDA_BAND} ${NSA_WORKSPACE})
set(NSA_CUDA_BAND_BACKWARD ${_cuda}/backward/band/band.cpp
                           ${_cuda}/backward/band/bf16.cu ${_cuda}/backward/band/fp16.cu
                           ${NSA_CUDA_BACKWARD})
set(NSA_CUDA_LISTED_BACKWARD ${_cuda}/backward/listed_bf16.cu ${_cuda}/backward/listed_fp16.cu
                             ${NSA_CUDA_BACKWARD})
# What backward kernels with sums of their own need of it, and the writes of their gradients of keys.
set(NSA_CUDA_ROW_STATS ${_cuda}/backward/params.cpp ${_cuda}/backward/row_stats.cu
                       ${NSA_CUDA_ATTEND} ${NSA_WORKSPACE})
set(NSA_CUDA_PUT_KEYS ${_cuda}/backward/put_keys.cu ${NSA_CUDA_ROW_STATS})
# Copies of tensors that a kernel cannot read as they lie.
set(NSA_CUDA_COPY ${_cuda}/memory/copy_rows.cu ${_cuda}/memory/shared_memory.cpp)
# Products.
set(NSA_CUDA_GEMM ${_cuda}/gemm/gemm.cpp ${_cuda}/gemm/gemv.cu ${_cuda}/gemm/cublas_lt.cpp
                  ${_cuda}/memory/shared_memory.cpp ${_cuda}/library/open_library.cpp
                  ${NSA_WORKSPACE})
set(NSA_CUDA_GEMM_BACKWARD ${_cuda}/gemm/linear_backward.cpp ${NSA_CUDA_GEMM})
