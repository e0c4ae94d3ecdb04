# The CUDA back end: NSA_HAVE_CUDA says whether it is built. ON without a toolkit is an error.
set(NSA_HAVE_CUDA FALSE)
if(NSA_CUDA STREQUAL "OFF")
  return()
endif()
include(CheckLanguage)
if(NOT DEFINED ENV{CUDACXX} AND NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
  set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(NSA_CUDA STREQUAL "ON")
    message(FATAL_ERROR "NSA_CUDA=ON, but no CUDA compiler was found. Install the CUDA toolkit, "
                        "put nvcc on PATH or set CUDACXX; or configure with NSA_CUDA=OFF.")
  endif()
  message(STATUS "CUDA back end: not built (no nvcc)")
  return()
endif()
# Architectures are passed by hand: CMake 3.25 knows neither C++20 for nvcc 13 nor every name.
set(CMAKE_CUDA_ARCHITECTURES OFF)
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 13 has C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
endif()
set(NSA_HAVE_CUDA TRUE)
message(STATUS "CUDA back end: ${CMAKE_CUDA_COMPILER_VERSION} for ${NSA_CUDA_ARCHITECTURES}")

add_library(nsa_cuda_flags INTERFACE)
set(_gencode "")
foreach(arch IN LISTS NSA_CUDA_ARCHITECTURES)
  list(APPEND _gencode "SHELL:-gencode arch=compute_${arch},code=sm_${arch}")
endforeach()
target_compile_options(nsa_cuda_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -lineinfo
    -Xcompiler=-Wall,-Wextra,-fPIC ${_gencode}>)
