// What plans of cuDNN's attention share. Only the files that make plans include it: the front end's
// headers cost a minute and 2 GB to compile.
#pragma once

#include <cudnn_frontend.h>

#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "nsa/schemas/error.hpp"
#include "vendor/cudnn/sdpa.hpp"

namespace nsa::vendor {

namespace fe = cudnn_frontend;

inline std::string dotted(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

inline void check(fe::error_t error, const char* what) {
  if (error.is_good()) return;
  throw EnvironmentError(std::string("cuDNN ") + dotted(fe::detail::get_backend_version()) + ", " +
                         what + ": " + error.get_message());
}

/// A handle keeps a stream, so each thread has its own, per device. Never destroyed: the driver may
/// be gone by then.
inline cudnnHandle_t handle_of(int device) {
  thread_local std::map<int, cudnnHandle_t> handles;
  cudnnHandle_t& handle = handles[device];
  if (!handle && fe::detail::create_handle(&handle) != CUDNN_STATUS_SUCCESS)
    throw EnvironmentError("cudnnCreate failed on device " + std::to_string(device));
  return handle;
}

/// The handle of this thread and device, on a stream.
inline cudnnHandle_t handle_on(int device, CUstream_st* stream) {
  const cudnnHandle_t handle = handle_of(device);
  if (fe::detail::set_stream(handle, stream) != CUDNN_STATUS_SUCCESS)
    throw EnvironmentError("cudnnSetStream failed");
  return handle;
}

inline std::vector<std::int64_t> strides_of(const SdpaStrides& s) {
  return {s.sequence, s.head, s.row, 1};
}

/// A tensor of a plan, by the number that data are given to it with.
inline std::shared_ptr<fe::graph::Tensor_attributes> add_tensor(
    fe::graph::Graph& graph, const char* name, std::int64_t uid,
    const std::vector<std::int64_t>& dim, const SdpaStrides& stride) {
  return graph.tensor(
      fe::graph::Tensor_attributes().set_name(name).set_uid(uid).set_dim(dim).set_stride(
          strides_of(stride)));
}

/// Which keys a query of the shape sees, for forward and backward options.
template <class Options>
void set_band(Options& options, const SdpaShape& shape) {
  if (shape.q_len == 1 && shape.window == 0) return;  // it sees every key
  options
      .set_diagonal_alignment(shape.q_len == shape.kv_len ? fe::DiagonalAlignment_t::TOP_LEFT
                                                          : fe::DiagonalAlignment_t::BOTTOM_RIGHT)
      .set_diagonal_band_right_bound(0);
  if (shape.window > 0) options.set_diagonal_band_left_bound(static_cast<int>(shape.window));
}
inline float scale_of(const SdpaShape& shape) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(shape.dk)));
}
inline fe::DataType_t type_of(const SdpaShape& shape) {
  return shape.dtype == Dtype::fp16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16;
}

/// Plans of the process. The last one of each thread is found without the lock.
template <class Shape, class Plan>
class Plans {
 public:
  static Plans& all() {
    static auto* plans = new Plans;  // outlives every user
    return *plans;
  }
  std::shared_ptr<Plan> find(const Shape& shape) {
    thread_local std::pair<Shape, std::shared_ptr<Plan>> last;
    if (last.second && last.first == shape) return last.second;
    const std::lock_guard lock(mutex_);
    if (plans_.size() > kMostPlans) plans_.clear();  // those in use live on
    auto& plan = plans_[shape];
    if (!plan) plan = std::make_shared<Plan>(shape);
    last = {shape, plan};
    return plan;
  }

 private:
  static constexpr std::size_t kMostPlans = 1024;
  std::mutex mutex_;
  std::map<Shape, std::shared_ptr<Plan>> plans_;
};

}  // namespace nsa::vendor
