# Translation units that CPU rows share, for their lists (nsa_variant_sources). Each set holds those
# that its own call.
set(_cpu ${CMAKE_CURRENT_LIST_DIR})
set(_catalog ${CMAKE_CURRENT_LIST_DIR}/../catalog)

# Loads and stores rows of any storage type, by all threads, with memory of the workspace.
set(NSA_CPU_ROWS ${_cpu}/convert.cpp ${_cpu}/simd/half_rows.cpp ${_cpu}/parallel.cpp
                 ${_catalog}/workspace.cpp)
# Attention: rows of logits, then keys and values in panels, then tiles of queries over them.
set(NSA_CPU_SOFTMAX ${_cpu}/rows.cpp ${_cpu}/simd/softmax.cpp ${NSA_CPU_ROWS})
set(NSA_CPU_PANELS ${_cpu}/panels.cpp ${_cpu}/simd/tile_gemm.cpp ${_cpu}/simd/transpose.cpp ${NSA_CPU_SOFTMAX})
set(NSA_CPU_FLASH ${_cpu}/flash_tile.cpp ${NSA_CPU_PANELS})
# The backward pass of attention: tiles of queries and panels of keys, and of one run of keys.
set(NSA_CPU_BACKWARD ${_cpu}/backward/panel.cpp ${_cpu}/backward/units.cpp ${_cpu}/simd/softmax_gradient.cpp
                     ${_cpu}/simd/tile_gemm.cpp ${_cpu}/simd/tile_gemm_tn.cpp ${_cpu}/simd/transpose.cpp
                     ${_catalog}/sequences.cpp ${NSA_CPU_SOFTMAX})
set(NSA_CPU_BAND_BACKWARD ${_cpu}/backward/band.cpp ${NSA_CPU_BACKWARD})
# Branches with one run of keys: by the BLAS, and by tiles.
set(NSA_CPU_BAND_MATH ${_cpu}/band/math.cpp ${_cpu}/blas.cpp ${_cpu}/simd/transpose.cpp
                      ${_catalog}/sequences.cpp ${NSA_CPU_SOFTMAX})
set(NSA_CPU_BAND_BLOCKED ${_cpu}/band/blocked.cpp ${_catalog}/sequences.cpp ${NSA_CPU_FLASH})
