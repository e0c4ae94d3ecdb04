# NSA_CUDA_BAND: what the kernels of a band of keys are made of (the window, the compressed branch).
set(NSA_CUDA_BAND "")
foreach(file attend_device.cuh attend_params.cpp attend_params.hpp band.cuh band_launch.cuh
             band_sm90.cuh band_sm90_keys.cuh band_sm90_softmax.cuh band_tile.cuh copy_async.cuh
             exp2.cuh launch.cuh mma.cuh numbers.cuh sm90_async.cuh sm90_device.hpp
             sm90_key_tile.cuh sm90_shared.cuh sm90_wgmma.cuh tensor_map.cpp tile_mma.cuh tile_simt.cuh)
  list(APPEND NSA_CUDA_BAND ${CMAKE_CURRENT_LIST_DIR}/${file})
endforeach()
