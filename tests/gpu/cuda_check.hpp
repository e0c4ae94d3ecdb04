// What the programs of the tests do with an error of CUDA.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

/// Prints it and ends the program with exit 3.
inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(3);
}
