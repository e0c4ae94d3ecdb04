// Tensors in device memory. Everything CUDA is behind nsa::device, which throws in a build without.
#include <charconv>

#include "nsa/kernels/device_memory.hpp"
#include "nsa/schemas/error.hpp"
#include "worker/memory.hpp"

namespace nsa::tuner {
namespace {

class Stream {
 public:
  Stream() : stream_(device::make_stream()) {}
  ~Stream() { device::destroy_stream(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream_st* get() const noexcept { return stream_; }

 private:
  CUstream_st* stream_;
};

class CudaTensors final : public TensorSet {
 public:
  CudaTensors(std::vector<HostTensor> tensors, CUstream_st* stream)
      : host_(std::move(tensors)), stream_(stream) {
    for (const HostTensor& tensor : host_) {
      device::Buffer& buffer = buffers_.emplace_back(tensor.bytes.size());
      if (buffer.bytes() > 0)
        device::copy_to_device(buffer.data(), tensor.bytes.data(), buffer.bytes(), stream_);
      TensorView view = tensor.view();
      view.data = buffer.data();
      views_.push_back(view);
    }
    device::synchronize(stream_);
  }
  std::span<const TensorView> views() const override { return views_; }
  void fill(std::byte value) override {
    for (device::Buffer& buffer : buffers_) {
      if (buffer.bytes() > 0) device::fill(buffer.data(), value, buffer.bytes(), stream_);
    }
  }
  const std::vector<HostTensor>& on_host() override {
    for (std::size_t i = 0; i < host_.size(); ++i) {
      if (buffers_[i].bytes() > 0)
        device::copy_to_host(host_[i].bytes.data(), buffers_[i].data(), buffers_[i].bytes(),
                             stream_);
    }
    device::synchronize(stream_);
    return host_;
  }

 private:
  std::vector<HostTensor> host_;
  CUstream_st* stream_;
  std::vector<device::Buffer> buffers_;
  std::vector<TensorView> views_;
};

class CudaMemory final : public Memory {
 public:
  std::unique_ptr<TensorSet> place(std::vector<HostTensor> tensors) override {
    return std::make_unique<CudaTensors>(std::move(tensors), stream_.get());
  }
  std::shared_ptr<const Sequence> place(const std::vector<Sequence>& sequences) override {
    const std::size_t bytes = sequences.size() * sizeof(Sequence);
    auto buffer = std::make_shared<device::Buffer>(bytes);
    device::copy_to_device(buffer->data(), sequences.data(), bytes, stream_.get());
    device::synchronize(stream_.get());
    return {buffer, static_cast<const Sequence*>(buffer->data())};
  }
  Allocator& allocator() noexcept override { return device::allocator(); }
  void fill(void* data, std::byte value, std::size_t bytes) override {
    device::fill(data, value, bytes, stream_.get());
  }
  CUstream_st* stream() noexcept override { return stream_.get(); }
  void synchronize() override { device::synchronize(stream_.get()); }

 private:
  Stream stream_;
};

int ordinal_of(const std::string& id) {
  int ordinal = 0;
  const std::size_t colon = id.find(':');
  if (colon == std::string::npos) return 0;
  const auto [end, error] = std::from_chars(id.data() + colon + 1, id.data() + id.size(), ordinal);
  expects(error == std::errc{} && end == id.data() + id.size(), "a device id such as cuda:0");
  return ordinal;
}

}  // namespace

std::unique_ptr<Memory> make_memory(const Device& device) {
  if (device.backend == Backend::cpu) return make_host_memory();
  device::select(ordinal_of(device.id));
  return std::make_unique<CudaMemory>();
}

}  // namespace nsa::tuner
