#include "device.hpp"

#include <charconv>

#include "nsa/schemas/error.hpp"

namespace nsa::cli {
namespace {

int ordinal_of(const std::string& id) {  // "cuda:1" -> 1
  int ordinal = 0;
  const std::size_t colon = id.find(':');
  if (colon == std::string::npos) return 0;
  const auto [end, error] = std::from_chars(id.data() + colon + 1, id.data() + id.size(), ordinal);
  expects(error == std::errc{} && end == id.data() + id.size(), "a device id such as cuda:0");
  return ordinal;
}

}  // namespace

RunDevice::RunDevice(const Device& device) : device_(device) {
  if (!on_gpu()) return;
  device::select(ordinal_of(device.id));
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
