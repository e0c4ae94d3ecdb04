#include <charconv>

#include "cpu/device.hpp"
#include "cuda/device.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::probes {

std::vector<Device> devices() {
  std::vector<Device> all{cpu_device()};
  for (Device& device : cuda_devices().devices) all.push_back(std::move(device));
  return all;
}

Device require_device(const std::string& id) {
  if (id == "cpu") return cpu_device();
  CudaDevices cuda = cuda_devices();
  std::string here = "cpu";
  for (Device& device : cuda.devices) {
    if (device.id == id) return std::move(device);
    here += ", " + device.id;
  }
  std::string message = "device " + id + " is not here; usable: " + here;
  if (!cuda.reason.empty()) message += "; CUDA: " + cuda.reason;
  throw EnvironmentError(message);
}

int cuda_ordinal(const std::string& id) {
  constexpr std::string_view kPrefix = "cuda:";
  if (!id.starts_with(kPrefix)) return -1;
  int ordinal = -1;
  const char* end = id.data() + id.size();
  const auto [stop, error] = std::from_chars(id.data() + kPrefix.size(), end, ordinal);
  return error == std::errc{} && stop == end ? ordinal : -1;
}

}  // namespace nsa::probes
