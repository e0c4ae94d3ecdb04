#include <array>
#include <cstddef>
#include <future>
#include <span>

#include "cuda/device.hpp"
#include "cuda/driver.hpp"
#include "cuda/nvml.hpp"
#include "machine/dynamic_library.hpp"
#include "nsa/probes/activity.hpp"
#include "nsa/probes/probes.hpp"

namespace nsa::probes {
namespace {

std::string dotted(std::size_t version, std::size_t major_unit, std::size_t minor_unit,
                   std::size_t patch_unit) {
  return std::to_string(version / major_unit) + "." +
         std::to_string(version % major_unit / minor_unit) + "." +
         std::to_string(version % minor_unit / patch_unit);
}

Capability missing(const char* library, std::string reason) {
  return {library, false, "", std::move(reason)};
}

/// Opens the library and reads its version through `read`, which returns "" when it cannot.
template <class Read>
Capability probe(const char* name, std::span<const char* const> files, Read read) {
  const DynamicLibrary library(files);
  if (!library) return missing(name, library.reason());
  std::string version = read(library);
  if (version.empty()) return missing(name, "it opens, but has no usable version function");
  return {name, true, std::move(version), ""};
}

Capability cuda_driver() {
  return probe("CUDA driver", kDriverFiles, [](const DynamicLibrary& library) {
    const int version = driver_version(library);
    return version == 0 ? std::string() : cuda_version_text(version);
  });
}

Capability cuda_runtime() {
  const CudaDevices cuda = cuda_devices();
  if (!cuda.reason.empty()) return {"CUDA runtime", false, cuda.runtime, cuda.reason};
  return {"CUDA runtime", true, cuda.runtime, ""};
}

Capability nvml() {
  const Nvml library;
  if (!library.usable()) return missing("NVML", library.reason());
  return {"NVML", true, library.library_version(), ""};
}

Capability cupti() {
  if (const std::string missing = activity_missing(); !missing.empty())
    return {"CUPTI", false, "", missing};
  if (const std::string holder = activity_holder(); !holder.empty())
    return {"CUPTI", false, std::to_string(activity_version()),
            holder + " holds it, and it takes one tool at a time"};
  return {"CUPTI", true, std::to_string(activity_version()), ""};
}

Capability cudnn() {
  constexpr std::array kFiles{"libcudnn.so.9", "libcudnn.so"};
  return probe("cuDNN", kFiles, [](const DynamicLibrary& library) -> std::string {
    auto* version_of = library.function<std::size_t()>("cudnnGetVersion");
    return version_of ? dotted(version_of(), 10000, 100, 1) : std::string();
  });
}

Capability cublas_lt() {
  constexpr std::array kFiles{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
  return probe("cuBLASLt", kFiles, [](const DynamicLibrary& library) -> std::string {
    auto* version_of = library.function<std::size_t()>("cublasLtGetVersion");
    if (!version_of) return {};
    const std::size_t version = version_of();  // 120103 up to 12.x, 130100 in 13.x
    return dotted(version, 10000, 100, 1);
  });
}

/// "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..." -> "0.3.21"
Capability openblas() {
  constexpr std::array kFiles{"libopenblas.so.0", "libopenblas.so"};
  return probe("OpenBLAS", kFiles, [](const DynamicLibrary& library) -> std::string {
    auto* config = library.function<char*()>("openblas_get_config");
    if (!config) return {};
    std::string text = config();
    if (const auto at = text.find("OpenBLAS "); at != std::string::npos) text.erase(0, at + 9);
    return text.substr(0, text.find(' '));
  });
}

}  // namespace

std::vector<Capability> capabilities() {
  // The driver takes a third of a second to start, and large libraries as long to open.
  auto libraries = std::async(std::launch::async, [] {
    return std::array{nvml(), cupti(), cudnn(), cublas_lt(), openblas()};
  });
  std::vector<Capability> all{cuda_driver(), cuda_runtime()};
  for (Capability& library : libraries.get()) all.push_back(std::move(library));
  return all;
}

}  // namespace nsa::probes
