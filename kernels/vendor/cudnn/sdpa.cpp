#include "vendor/cudnn/sdpa.hpp"

#include <unordered_map>

#include "cuda/library/open_library.hpp"
#include "nsa/schemas/error.hpp"
#include "vendor/cudnn/front_end.hpp"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // what the front end looks its functions up in
}

namespace nsa::vendor {
namespace {

enum Uid : std::int64_t { kQ = 1, kK, kV, kO, kLse };

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

class Plan {
 public:
  explicit Plan(const SdpaShape& shape) {
    graph_.set_io_data_type(type_of(shape))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    const auto q =
        add_tensor(graph_, "q", kQ, {shape.batch, shape.q_heads, shape.q_len, shape.dk}, shape.q);
    const auto k =
        add_tensor(graph_, "k", kK, {shape.batch, shape.kv_heads, shape.kv_len, shape.dk}, shape.k);
    const auto v =
        add_tensor(graph_, "v", kV, {shape.batch, shape.kv_heads, shape.kv_len, shape.dv}, shape.v);
    auto [o, lse] = graph_.sdpa(q, k, v, options(shape));
    o->set_output(true)
        .set_uid(kO)
        .set_dim({shape.batch, shape.q_heads, shape.q_len, shape.dv})
        .set_stride(strides_of(shape.o));
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
  static fe::graph::SDPA_attributes options(const SdpaShape& shape) {
    fe::graph::SDPA_attributes options;
    options.set_name("attention")
        .set_generate_stats(shape.wants_lse)
        .set_attn_scale(scale_of(shape));
    set_band(options, shape);
    return options;
  }

  fe::graph::Graph graph_;
  std::int64_t workspace_bytes_ = 0;
};

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
  const std::shared_ptr<Plan> plan = Plans<SdpaShape, Plan>::all().find(shape);
  const cudnnHandle_t handle = handle_on(shape.device, stream);
  const WorkspaceScope scope(workspace);
  plan->run(handle, data, workspace.take(static_cast<std::size_t>(plan->workspace_bytes())));
}

}  // namespace nsa::vendor
