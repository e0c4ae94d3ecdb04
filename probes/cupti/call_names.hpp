// What the names of API calls say. Lists of names, not of numbers: a list of numbers would lose
// each launch call that a later CUDA adds.
#pragma once

#include <string>
#include <string_view>

namespace nsa::probes::cupti {

/// "__cudaLaunchKernel_ptsz_v13000" -> "cudaLaunchKernel".
std::string plain_call_name(std::string_view name);
/// Calls that only ask or keep a thread's state: five of them surround each launch of a PyTorch
/// program, and recording them costs more than the launch's own record.
bool is_noise_call(std::string_view plain_name);
/// A call that starts a kernel.
bool is_kernel_launch(std::string_view plain_name);
bool is_graph_launch(std::string_view plain_name);
/// A call that returns when the device has done something.
bool is_host_wait(std::string_view plain_name);
/// A call that takes memory: of the device, of its address space, or pinned memory of the host.
bool is_allocation(std::string_view plain_name);

}  // namespace nsa::probes::cupti
