// Names as recorders write them.
#pragma once

#include <string>
#include <string_view>

namespace nsa::trace {

/// A C++ name as people write it; any other name as it is.
std::string demangled(std::string_view name);
/// A text whose words may be such names, as tracers report them.
std::string demangled_words(std::string_view text);
/// cudaLaunchKernel_v7000, cudaLaunchKernel_ptsz -> cudaLaunchKernel.
std::string_view without_version(std::string_view api);
/// Whether an overhead record is time of the profiler; CUDA's own (module loading, a full command
/// buffer) is not.
bool is_profiler_overhead(std::string_view name);

}  // namespace nsa::trace
