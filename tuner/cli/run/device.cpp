#include "device.hpp"

#include "nsa/probes/probes.hpp"

namespace nsa::cli {

RunDevice::RunDevice(const Device& device) : device_(device) {
  if (!on_gpu()) return;
  device::select(probes::cuda_ordinal(device.id));
  stream_.emplace();
}

Allocator& RunDevice::allocator() const noexcept {
  return on_gpu() ? device::allocator() : host_allocator();
}

void RunDevice::synchronize() const {
  if (on_gpu()) device::synchronize(stream());
}

RunTensor::RunTensor(HostTensor host, const RunDevice& device) : host_(std::move(host)) {
  view_ = host_.view();
  if (!device.on_gpu()) return;
  buffer_ = device::Buffer(host_.bytes.size());
  device::copy_to_device(buffer_.data(), host_.bytes.data(), buffer_.bytes(), device.stream());
  device.synchronize();
  view_.data = buffer_.data();
  host_.bytes = {};
}

}  // namespace nsa::cli
