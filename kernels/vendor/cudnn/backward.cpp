#include "vendor/cudnn/backward.hpp"

#include <unordered_map>

#include "vendor/cudnn/front_end.hpp"

namespace nsa::vendor {
namespace {

/// 9.10.0 and 9.10.1 are known to be wrong, and what is older has no plan for a window on Hopper.
constexpr std::size_t kLeastBackward = 91002;
enum Uid : std::int64_t { kQ = 1, kK, kV, kO, kDO, kLse, kDQ, kDK, kDV };

class Plan {
 public:
  explicit Plan(const SdpaBackwardShape& shape) {
    const SdpaShape& s = shape.attend;
    const std::vector<std::int64_t> q{s.batch, s.q_heads, s.q_len, s.dk},
        o{s.batch, s.q_heads, s.q_len, s.dv}, k{s.batch, s.kv_heads, s.kv_len, s.dk},
        v{s.batch, s.kv_heads, s.kv_len, s.dv};
    graph_.set_io_data_type(type_of(s))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    const auto lse = graph_.tensor(fe::graph::Tensor_attributes()
                                       .set_name("lse")
                                       .set_uid(kLse)
                                       .set_data_type(fe::DataType_t::FLOAT)
                                       .set_dim({s.batch, s.q_heads, s.q_len, 1})
                                       .set_stride({s.q_heads * s.q_len, s.q_len, 1, 1}));
    fe::graph::SDPA_backward_attributes options;
    options.set_name("attention_backward")
        .set_attn_scale(scale_of(s))
        .set_deterministic_algorithm(shape.deterministic);
    set_band(options, s);
    const auto [d_q, d_k, d_v] = graph_.sdpa_backward(
        add_tensor(graph_, "q", kQ, q, s.q), add_tensor(graph_, "k", kK, k, s.k),
        add_tensor(graph_, "v", kV, v, s.v), add_tensor(graph_, "o", kO, o, s.o),
        add_tensor(graph_, "d_o", kDO, o, shape.d_o), lse, options);
    d_q->set_output(true).set_uid(kDQ).set_dim(q).set_stride(strides_of(shape.d_q));
    d_k->set_output(true).set_uid(kDK).set_dim(k).set_stride(strides_of(shape.d_k));
    d_v->set_output(true).set_uid(kDV).set_dim(v).set_stride(strides_of(shape.d_v));
    check(graph_.build(handle_of(s.device), {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}),
          "no plan for this attention backward");
    check(graph_.get_workspace_size(workspace_bytes_), "size of the workspace");
  }

  void run(cudnnHandle_t handle, const SdpaBackwardData& data, void* workspace) {
    const auto pointer = [](const void* p) { return const_cast<void*>(p); };
    std::unordered_map<std::int64_t, void*> pack{
        {kQ, pointer(data.q)}, {kK, pointer(data.k)},    {kV, pointer(data.v)},
        {kO, pointer(data.o)}, {kDO, pointer(data.d_o)}, {kLse, pointer(data.lse)},
        {kDQ, data.d_q},       {kDK, data.d_k},          {kDV, data.d_v}};
    check(graph_.execute(handle, pack, workspace), "launch of attention backward");
  }
  std::int64_t workspace_bytes() const noexcept { return workspace_bytes_; }

 private:
  fe::graph::Graph graph_;
  std::int64_t workspace_bytes_ = 0;
};

}  // namespace

const std::string& sdpa_backward_missing() {
  static const std::string reason = [] {
    if (!sdpa_missing().empty()) return sdpa_missing();
    const std::size_t version = fe::detail::get_backend_version();
    return version >= kLeastBackward
               ? std::string()
               : "needs cuDNN " + dotted(kLeastBackward) + " or newer, here is " + dotted(version);
  }();
  return reason;
}

void run_sdpa_backward(const SdpaBackwardShape& shape, const SdpaBackwardData& data,
                       Workspace& workspace, CUstream_st* stream) {
  if (!sdpa_backward_missing().empty()) throw EnvironmentError(sdpa_backward_missing());
  const std::shared_ptr<Plan> plan = Plans<SdpaBackwardShape, Plan>::all().find(shape);
  const cudnnHandle_t handle = handle_on(shape.attend.device, stream);
  const WorkspaceScope scope(workspace);
  plan->run(handle, data, workspace.take(static_cast<std::size_t>(plan->workspace_bytes())));
}

}  // namespace nsa::vendor
