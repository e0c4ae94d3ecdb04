// Tensors in device memory. Everything CUDA is behind nsa::device, which throws in a build without.
#include "nsa/kernels/device_inputs.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/device_outputs.hpp"
#include "nsa/kernels/stream.hpp"
#include "nsa/probes/probes.hpp"
#include "worker/elements.hpp"
#include "worker/memory.hpp"
#include "worker/row_distance.hpp"

namespace nsa::tuner {
namespace {

/// Host memory is taken when the tensors are first fetched.
class CudaTensors final : public TensorSet {
 public:
  /// Of these names and shapes, with no contents yet.
  CudaTensors(std::vector<HostTensor> shapes, Workspace& scratch, CUstream_st* stream)
      : host_(std::move(shapes)), scratch_(scratch), stream_(stream) {
    for (const HostTensor& tensor : host_) {
      TensorView view = tensor.view();
      view.data = buffers_.emplace_back(view.bytes()).data();
      views_.push_back(view);
    }
  }
  /// Copies the contents of tensors of the same shapes, where they have some, and waits for it.
  void upload(const std::vector<HostTensor>& from) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (!from[i].bytes.empty())
        device::copy_to_device(buffers_[i].data(), from[i].bytes.data(), buffers_[i].bytes(),
                               stream_);
    }
    device::synchronize(stream_);
  }
  void generate(const GeneratedTensor& how) {
    device::generate(views_[how.index], how.seed, how.scale, stream_);
  }
  std::span<const TensorView> views() const override { return views_; }
  void fill(std::byte value) override {
    for (device::Buffer& buffer : buffers_) {
      if (buffer.bytes() > 0) device::fill(buffer.data(), value, buffer.bytes(), stream_);
    }
  }
  const std::vector<HostTensor>& on_host() override {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      host_[i].bytes.resize(buffers_[i].bytes());
      if (buffers_[i].bytes() > 0)
        device::copy_to_host(host_[i].bytes.data(), buffers_[i].data(), buffers_[i].bytes(),
                             stream_);
    }
    device::synchronize(stream_);
    return host_;
  }
  std::vector<HostTensor> rows(std::span<const std::int64_t> rows) override {
    auto fetched = device::fetch_rows(views_, rows, scratch_, stream_);
    std::vector<HostTensor> parts = shapes();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].bytes = std::move(fetched[i]);
      const std::size_t bytes = row_bytes(parts[i].shape);
      parts[i].shape.shape[0] =
          bytes > 0 ? static_cast<std::int64_t>(parts[i].bytes.size() / bytes) : 0;
    }
    return parts;
  }
  std::unique_ptr<TensorSet> copy() override {
    try {
      auto copied = std::make_unique<CudaTensors>(shapes(), scratch_, stream_);
      for (std::size_t i = 0; i < buffers_.size(); ++i) {
        if (buffers_[i].bytes() > 0)
          device::copy_on_device(copied->buffers_[i].data(), buffers_[i].data(),
                                 buffers_[i].bytes(), stream_);
      }
      return copied;
    } catch (const OutOfMemory&) {
      return in_host_memory(on_host());
    }
  }
  std::vector<double> distances(TensorSet& other, double tolerance) override {
    if (dynamic_cast<CudaTensors*>(&other))
      return device::row_distances(views_, other.views(), tolerance, scratch_, stream_);
    return row_distances(on_host(), other.on_host(), tolerance);
  }
  OddElements odd_elements(std::byte poison, TensorSet& before, std::byte old_poison) override {
    if (!dynamic_cast<CudaTensors*>(&before))
      return in_host_memory(on_host())->odd_elements(poison, before, old_poison);
    const auto odd =
        device::odd_elements(views_, poison, before.views(), old_poison, scratch_, stream_);
    return {odd.untouched, odd.non_finite - empty_rows_here()};
  }

 private:
  /// As count_non_finite() leaves them out.
  std::int64_t empty_rows_here() {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < host_.size(); ++i) {
      if (!is_log_sum_exp(host_[i].name) || buffers_[i].bytes() == 0) continue;
      HostTensor saved{host_[i].name, host_[i].shape, {}};
      saved.make_room();
      device::copy_to_host(saved.bytes.data(), buffers_[i].data(), saved.bytes.size(), stream_);
      device::synchronize(stream_);
      count += empty_rows(saved);
    }
    return count;
  }
  std::vector<HostTensor> shapes() const {
    std::vector<HostTensor> shapes;
    for (const HostTensor& tensor : host_) shapes.push_back({tensor.name, tensor.shape, {}});
    return shapes;
  }

  std::vector<HostTensor> host_;
  Workspace& scratch_;
  CUstream_st* stream_;
  std::vector<device::Buffer> buffers_;
  std::vector<TensorView> views_;
};

class CudaMemory final : public Memory {
 public:
  std::unique_ptr<TensorSet> place(const std::vector<HostTensor>& tensors) override {
    return uploaded(tensors);
  }
  std::unique_ptr<TensorSet> place(PlannedInputs& inputs) override {
    auto placed = uploaded(inputs.tensors);
    for (const GeneratedTensor& how : inputs.generated) placed->generate(how);
    return placed;
  }
  std::unique_ptr<TensorSet> place_filled(std::vector<HostTensor> shapes,
                                          std::byte value) override {
    auto placed = std::make_unique<CudaTensors>(std::move(shapes), scratch_, stream_.get());
    placed->fill(value);
    synchronize();
    return placed;
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
  std::unique_ptr<CudaTensors> uploaded(const std::vector<HostTensor>& tensors) {
    std::vector<HostTensor> shapes;
    for (const HostTensor& tensor : tensors) shapes.push_back({tensor.name, tensor.shape, {}});
    auto placed = std::make_unique<CudaTensors>(std::move(shapes), scratch_, stream_.get());
    placed->upload(tensors);
    return placed;
  }

  device::Stream stream_;
  /// Of comparisons, kept from one to the next; tensors borrow it.
  Workspace scratch_{device::allocator()};
};

}  // namespace

std::unique_ptr<Memory> make_memory(const Device& device) {
  if (device.backend == Backend::cpu) return make_host_memory();
  device::select(probes::cuda_ordinal(device.id));
  return std::make_unique<CudaMemory>();
}

}  // namespace nsa::tuner
