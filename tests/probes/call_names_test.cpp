#include "cupti/call_names.hpp"

#include "catch.hpp"

using namespace nsa::probes::cupti;

TEST_CASE("a call's name has neither version nor stream suffix", "[probes]") {
  CHECK(plain_call_name("__cudaLaunchKernel_v13000") == "cudaLaunchKernel");
  CHECK(plain_call_name("__cudaLaunchKernel_ptsz_v13000") == "cudaLaunchKernel");
  CHECK(plain_call_name("cudaMemcpyAsync_v3020") == "cudaMemcpyAsync");
  CHECK(plain_call_name("cuMemcpyDtoHAsync_v2_ptsz") == "cuMemcpyDtoHAsync");
  CHECK(plain_call_name("cuLaunchKernel") == "cuLaunchKernel");
  CHECK(plain_call_name("cuda_v").empty() == false);
}

TEST_CASE("getters and queries are noise, whatever does something is not", "[probes]") {
  for (const char* name :
       {"cudaGetDevice", "cudaGetLastError", "cudaPeekAtLastError", "cudaEventQuery",
        "cudaStreamIsCapturing", "cudaDeviceGetAttribute", "cuDevicePrimaryCtxGetState",
        "cudaSetDevice", "cuCtxGetCurrent", "cudaOccupancyMaxActiveBlocksPerMultiprocessor"}) {
    INFO(name);
    CHECK(is_noise_call(name));
  }
  for (const char* name :
       {"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernelEx", "cudaMemcpyAsync",
        "cudaStreamSynchronize", "cudaMalloc", "cudaFree", "cudaGraphLaunch", "cudaEventRecord",
        "cudaStreamWaitEvent", "cuModuleLoadData", "cudaGettersOfTomorrow"}) {
    INFO(name);
    CHECK_FALSE(is_noise_call(name));
  }
}

TEST_CASE("launches, waits and allocations are told by their names", "[probes]") {
  for (const char* name : {"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel",
                           "cudaLaunchCooperativeKernel", "cuLaunchKernelEx", "cudaLaunchNextYear"})
    CHECK(is_kernel_launch(name));
  for (const char* name : {"cudaLaunchHostFunc", "cuLaunchHostFunc", "cudaGraphLaunch"})
    CHECK_FALSE(is_kernel_launch(name));
  CHECK(is_graph_launch("cuGraphLaunch"));
  CHECK(is_graph_launch("cudaGraphLaunch"));
  CHECK_FALSE(is_graph_launch("cudaGraphInstantiate"));
  for (const char* name : {"cudaDeviceSynchronize", "cuStreamSynchronize", "cudaEventSynchronize",
                           "cudaMemcpy", "cuMemcpyDtoH", "cudaMemcpyToSymbol"})
    CHECK(is_host_wait(name));
  for (const char* name : {"cudaMemcpyAsync", "cuMemcpyDtoD", "cuMemcpyHtoDAsync", "cudaMemset"})
    CHECK_FALSE(is_host_wait(name));
  for (const char* name : {"cudaMalloc", "cudaMallocAsync", "cuMemAlloc", "cuMemAllocAsync",
                           "cuMemCreate", "cudaMallocHost", "cudaHostAlloc"})
    CHECK(is_allocation(name));
  for (const char* name : {"cudaFree", "cudaMemset", "cudaMemcpy"})
    CHECK_FALSE(is_allocation(name));
}
