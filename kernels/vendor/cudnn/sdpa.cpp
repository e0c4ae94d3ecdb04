#include "vendor/cudnn/sdpa.hpp"

#include <cudnn_frontend.h>

#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cuda/library/open_library.hpp"
#include "nsa/schemas/cuda_error.hpp"
#include "nsa/schemas/error.hpp"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // what the front end looks its functions up in
}

namespace nsa::vendor {
namespace {

namespace fe = cudnn_frontend;

constexpr std::size_t kMostPlans = 1024;
enum Uid : std::int64_t { kQ = 1, kK, kV, kO, kLse };

std::string dotted(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

std::string open_cudnn() {
  std::string reason;
  // The front end opens the runtime by name: it finds what is open already.
  if (!cuda::open_library({"libcudart.so.13", "libcudart.so.12"}, reason))
    return "needs the CUDA runtime library: " + reason;
  reason.clear();
  void* library = cuda::open_library({"libcudnn.so.9"}, reason);
  if (!library) return "needs cuDNN 9: " + reason;
  fe::cudnn_dlhandle = library;
  const std::size_t version = fe::detail::get_backend_version();
  if (version >= static_cast<std::size_t>(kLeastCudnn)) return "";
  return "needs cuDNN " + dotted(static_cast<std::size_t>(kLeastCudnn)) + " or newer, here is " +
         dotted(version);
}

void check(fe::error_t error, const char* what) {
  if (error.is_good()) return;
  throw EnvironmentError(std::string("cuDNN ") + dotted(fe::detail::get_backend_version()) + ", " +
                         what + ": " + error.get_message());
}

/// A handle keeps a stream, so each thread has its own, per device. Never destroyed: the driver may
/// be gone by then.
cudnnHandle_t handle_of(int device) {
  thread_local std::map<int, cudnnHandle_t> handles;
  cudnnHandle_t& handle = handles[device];
  if (!handle && fe::detail::create_handle(&handle) != CUDNN_STATUS_SUCCESS)
    throw EnvironmentError("cudnnCreate failed on device " + std::to_string(device));
  return handle;
}

class Plan {
 public:
  explicit Plan(const SdpaShape& shape) {
    const auto type = shape.dtype == Dtype::fp16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16;
    graph_.set_io_data_type(type)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    const auto q = input("q", kQ, {shape.batch, shape.q_heads, shape.q_len, shape.dk}, shape.q);
    const auto k = input("k", kK, {shape.batch, shape.kv_heads, shape.kv_len, shape.dk}, shape.k);
    const auto v = input("v", kV, {shape.batch, shape.kv_heads, shape.kv_len, shape.dv}, shape.v);
    auto [o, lse] = graph_.sdpa(q, k, v, options(shape));
    o->set_output(true)
        .set_uid(kO)
        .set_dim({shape.batch, shape.q_heads, shape.q_len, shape.dv})
        .set_stride(strides(shape.o));
    if (shape.wants_lse) {
      lse->set_output(true)
          .set_uid(kLse)
          .set_data_type(fe::DataType_t::FLOAT)
          .set_dim({shape.batch, shape.q_heads, shape.q_len, 1})
          .set_stride({shape.q_heads * shape.q_len, shape.q_len, 1, 1});
    }
    check(graph_.build(handle_of(shape.device), {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}),
          "no plan for this attention");
    check(graph_.get_workspace_size(workspace_bytes_), "size of the workspace");
  }

  void run(cudnnHandle_t handle, const SdpaData& data, void* workspace) {
    std::unordered_map<std::int64_t, void*> pack{{kQ, const_cast<void*>(data.q)},
                                                 {kK, const_cast<void*>(data.k)},
                                                 {kV, const_cast<void*>(data.v)},
                                                 {kO, data.o}};
    if (data.lse) pack[kLse] = data.lse;
    check(graph_.execute(handle, pack, workspace), "launch of attention");
  }
  std::int64_t workspace_bytes() const noexcept { return workspace_bytes_; }

 private:
  static std::vector<std::int64_t> strides(const SdpaStrides& s) {
    return {s.sequence, s.head, s.row, 1};
  }
  static fe::graph::SDPA_attributes options(const SdpaShape& shape) {
    fe::graph::SDPA_attributes options;
    options.set_name("attention")
        .set_generate_stats(shape.wants_lse)
        .set_attn_scale(static_cast<float>(1 / std::sqrt(static_cast<double>(shape.dk))));
    if (shape.q_len == 1 && shape.window == 0) return options;  // it sees every key
    options
        .set_diagonal_alignment(shape.q_len == shape.kv_len ? fe::DiagonalAlignment_t::TOP_LEFT
                                                            : fe::DiagonalAlignment_t::BOTTOM_RIGHT)
        .set_diagonal_band_right_bound(0);
    if (shape.window > 0) options.set_diagonal_band_left_bound(static_cast<int>(shape.window));
    return options;
  }
  std::shared_ptr<fe::graph::Tensor_attributes> input(const char* name, Uid uid,
                                                      const std::vector<std::int64_t>& dim,
                                                      const SdpaStrides& stride) {
    return graph_.tensor(
        fe::graph::Tensor_attributes().set_name(name).set_uid(uid).set_dim(dim).set_stride(
            strides(stride)));
  }

  fe::graph::Graph graph_;
  std::int64_t workspace_bytes_ = 0;
};

/// Plans of the process. The last one of each thread is found without the lock.
class Plans {
 public:
  std::shared_ptr<Plan> find(const SdpaShape& shape) {
    thread_local std::pair<SdpaShape, std::shared_ptr<Plan>> last;
    if (last.second && last.first == shape) return last.second;
    const std::lock_guard lock(mutex_);
    if (plans_.size() > kMostPlans) plans_.clear();  // those in use live on
    auto& plan = plans_[shape];
    if (!plan) plan = std::make_shared<Plan>(shape);
    last = {shape, plan};
    return plan;
  }

 private:
  std::mutex mutex_;
  std::map<SdpaShape, std::shared_ptr<Plan>> plans_;
};

Plans& plans() {
  static auto* all = new Plans;  // outlives every user
  return *all;
}

}  // namespace

const std::string& sdpa_missing() {
  static const std::string reason = open_cudnn();
  return reason;
}

std::string sdpa_version() {
  return sdpa_missing().empty() ? dotted(fe::detail::get_backend_version()) : "";
}

void run_sdpa(const SdpaShape& shape, const SdpaData& data, Workspace& workspace,
              CUstream_st* stream) {
  if (!sdpa_missing().empty()) throw EnvironmentError(sdpa_missing());
  const std::shared_ptr<Plan> plan = plans().find(shape);
  const cudnnHandle_t handle = handle_of(shape.device);
  if (fe::detail::set_stream(handle, stream) != CUDNN_STATUS_SUCCESS)
    throw EnvironmentError("cudnnSetStream failed");
  const WorkspaceScope scope(workspace);
  plan->run(handle, data, workspace.take(static_cast<std::size_t>(plan->workspace_bytes())));
}

}  // namespace nsa::vendor
