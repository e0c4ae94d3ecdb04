#include <algorithm>
#include <cstring>

#include "worker/elements.hpp"
#include "worker/memory.hpp"
#include "worker/row_distance.hpp"

namespace nsa::tuner {
namespace {

class HostTensors final : public TensorSet {
 public:
  explicit HostTensors(std::vector<HostTensor> tensors) : tensors_(std::move(tensors)) {
    for (const HostTensor& tensor : tensors_) views_.push_back(tensor.view());
  }
  std::span<const TensorView> views() const override { return views_; }
  void fill(std::byte value) override {
    for (HostTensor& tensor : tensors_) tensor.fill(value);
  }
  const std::vector<HostTensor>& on_host() override { return tensors_; }
  std::vector<HostTensor> rows(std::span<const std::int64_t> rows) override {
    std::vector<HostTensor> parts;
    for (const HostTensor& tensor : tensors_) parts.push_back(rows_of(tensor, rows));
    return parts;
  }
  std::unique_ptr<TensorSet> copy() override { return std::make_unique<HostTensors>(tensors_); }
  std::vector<double> distances(TensorSet& other, double tolerance) override {
    return row_distances(tensors_, other.on_host(), tolerance);
  }
  OddElements odd_elements(std::byte poison, TensorSet& before, std::byte old_poison) override {
    return {count_untouched(before.on_host(), old_poison, tensors_, poison),
            count_non_finite(tensors_)};
  }

 private:
  std::vector<HostTensor> tensors_;
  std::vector<TensorView> views_;
};

class HostMemory final : public Memory {
 public:
  std::unique_ptr<TensorSet> place(const std::vector<HostTensor>& tensors) override {
    return std::make_unique<HostTensors>(tensors);
  }
  std::unique_ptr<TensorSet> place(PlannedInputs& inputs) override {
    generate(inputs);
    return place(inputs.tensors);
  }
  std::unique_ptr<TensorSet> place_filled(std::vector<HostTensor> shapes,
                                          std::byte value) override {
    for (HostTensor& tensor : shapes) tensor.fill(value);
    return std::make_unique<HostTensors>(std::move(shapes));
  }
  std::shared_ptr<const Sequence> place(const std::vector<Sequence>& sequences) override {
    auto copy = std::make_shared<std::vector<Sequence>>(sequences);
    return {copy, copy->data()};
  }
  Allocator& allocator() noexcept override { return host_allocator(); }
  void fill(void* data, std::byte value, std::size_t bytes) override {
    std::memset(data, std::to_integer<int>(value), bytes);
  }
  CUstream_st* stream() noexcept override { return nullptr; }
  void synchronize() override {}
};

}  // namespace

std::unique_ptr<TensorSet> in_host_memory(std::vector<HostTensor> tensors) {
  return std::make_unique<HostTensors>(std::move(tensors));
}

std::unique_ptr<Memory> make_host_memory() { return std::make_unique<HostMemory>(); }

}  // namespace nsa::tuner
