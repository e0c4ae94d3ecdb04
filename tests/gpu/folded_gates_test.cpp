// Backward launches that share the gate's d_o: two numbers a row (Saved::row_stats) stand for the
// gradient of a branch. The gate's launch writes them, that of the branch reads them.
#include <cmath>
#include <numbers>

#include "backward_support.hpp"
#include "cpu/convert.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

constexpr std::array kAttends{Stage::attend_compressed, Stage::attend_selected,
                              Stage::attend_window};  // by Branch

/// Shapes with 8 and 16 lanes a head in the gate's tile, and others; ragged, behind a context.
std::vector<Problem> problems(Dtype dtype) {
  std::vector<Problem> all{small_problem({75}, {0}, 12, 2, 64, 64, dtype),
                           small_problem({7, 21}, {29, 40}, 6, 2, 40, 30, dtype)};
  if (!sanitized()) {
    all.push_back(small_problem({67}, {0}, 32, 2, 128, 128, dtype));
    all.push_back(small_problem({51}, {0}, 10, 2, 64, 96, dtype));
  }
  for (Problem& p : all) {
    p.geometry = {16, 8, 32, 3, 40};
    p.direction = Direction::backward;
  }
  return all;
}

std::vector<double> numbers_of(const HostTensor& tensor) {
  std::vector<double> numbers(static_cast<std::size_t>(tensor.view().elements()));
  load_row(tensor.view(), 0, tensor.view().elements(), numbers.data());
  return numbers;
}

double dot(const std::vector<double>& x, const std::vector<double>& y, std::size_t first,
           std::size_t count) {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += x[i] * y[i];
  return sum;
}

HostTensor make_row_stats(const Problem& p) {
  HostTensor stats{"row_stats", {Dtype::fp32, 3, {p.total_tokens(), p.q_heads, 2}}, {}};
  stats.bytes.assign(stats.view().bytes(), kPoison);
  return stats;
}

/// A power of two, so that its product with d_o is exact, or 0.
double gate_of(std::size_t token, std::size_t group) {
  const std::size_t kind = (5 * token + 3 * group) % 4;
  return kind == 3 ? 0 : std::exp2(-static_cast<double>(kind));
}

/// The gradients of rows of a branch with those gates, given row statistics and the gate's d_o.
void check_branch(const Variant& row, const Problem& p, const BackwardInputs& inputs,
                  CUstream_st* stream) {
  const Stage stage = row.stages.front();
  const auto branch =
      static_cast<std::size_t>(std::ranges::find(kAttends, stage) - kAttends.begin());
  const std::size_t count = inputs.tensors.size();  // ..., o, d_o
  const auto heads = static_cast<std::size_t>(p.q_heads),
             dv = static_cast<std::size_t>(p.head_dim_v);
  const auto group = static_cast<std::size_t>(p.heads_per_group());
  BackwardInputs scaled = inputs;
  std::vector<double> d_o = numbers_of(inputs.tensors[count - 1]);
  const std::vector<double> o = numbers_of(inputs.tensors[count - 2]);
  const TensorView lse = inputs.saved().lse_of(kBranchOrder[branch]);
  HostTensor stats = make_row_stats(p);
  for (std::size_t r = 0; r < d_o.size() / dv; ++r) {
    const double gate = gate_of(r / heads, r % heads / group);
    const double log_sum_exp = lse.as<float>()[r];
    const bool none = gate == 0 || std::isinf(log_sum_exp);
    float* to = stats.view().as<float>() + 2 * r;
    to[0] =
        none ? INFINITY : static_cast<float>(log_sum_exp * std::numbers::log2e - std::log2(gate));
    to[1] = none ? 0.0f : static_cast<float>(dot(d_o, o, r * dv, dv));
    for (std::size_t c = r * dv; c < (r + 1) * dv; ++c) d_o[c] *= gate;
  }
  store_row(scaled.tensors[count - 1].view(), 0, static_cast<std::int64_t>(d_o.size()), d_o.data());
  const auto expected = reference::run_stage_backward(stage, p, scaled.views());

  const auto in = upload(inputs.tensors, stream);
  const auto out = upload(make_gradients(stage, p, p.dtype), stream);
  const DeviceTensor on_device(stats, stream);
  Saved saved = inputs.saved();
  std::vector<DeviceTensor> kept;
  kept.reserve(1);
  for (TensorView* view : {&saved.lse_cmp, &saved.lse_sel, &saved.lse_win}) {
    if (!*view) continue;
    for (const HostTensor& tensor : inputs.kept)
      if (tensor.bytes.data() == view->as<std::byte>()) kept.emplace_back(tensor, stream);
    *view = kept.back().view();
  }
  saved.row_stats[branch] = on_device.view();
  Launchable launchable(row, p, views(in), views(out), stream, &saved);
  launchable.launch();
  if (sanitized()) return;
  check_gradients(expected, download(out, stream), gradient_tolerance(p.dtype));
}

/// What one launch of the gate writes.
struct GateRun {
  std::vector<HostTensor> gradients;
  std::array<HostTensor, 3> stats;  // those that were asked for
};
GateRun run_gate(const Variant& row, const Problem& p, const BackwardInputs& inputs,
                 std::array<DeviceTensor, 3>* lse, unsigned folded, const AttentionOptions& options,
                 CUstream_st* stream) {
  const auto in = upload(inputs.tensors, stream);
  const auto out = upload(make_gradients(Stage::gate_combine, p, p.dtype), stream);
  auto out_views = views(out);
  Saved saved;
  std::vector<DeviceTensor> stats;
  stats.reserve(3);
  for (std::size_t b = 0; b < 3; ++b) {
    stats.emplace_back(make_row_stats(p), stream);
    if ((folded >> b & 1u) == 0) continue;
    saved.row_stats[b] = stats[b].view();
    out_views[1 + b] = {};
  }
  saved.lse_cmp = (*lse)[0].view(), saved.lse_sel = (*lse)[1].view(),
  saved.lse_win = (*lse)[2].view();
  Launchable launchable(row, p, views(in), out_views, stream, &saved);
  launchable.set_options(options);
  launchable.launch();
  GateRun run;
  run.gradients = download(out, stream);
  for (std::size_t b = 0; b < 3; ++b) run.stats[b] = stats[b].download(stream);
  return run;
}

/// Row statistics against the branch's gradient, the gate times d_o, that the same row writes.
void check_stats(const HostTensor& stats, const HostTensor& d_branch, const HostTensor& branch,
                 const HostTensor& d_o, const HostTensor& lse, std::size_t dv, double tolerance) {
  const std::vector<double> gradients = numbers_of(d_branch), outputs = numbers_of(branch),
                            through = numbers_of(d_o), sums = numbers_of(lse),
                            found = numbers_of(stats);
  for (std::size_t r = 0; r < sums.size(); ++r) {
    const double norm = dot(through, through, r * dv, dv);
    const double gate = dot(gradients, through, r * dv, dv) / norm;
    INFO("row " << r << ", gate " << gate);
    if (gate == 0 || std::isinf(sums[r])) {
      CHECK(found[2 * r] == INFINITY);
      if (gate == 0) CHECK(found[2 * r + 1] == 0);
      continue;
    }
    CHECK(std::abs(std::exp2(sums[r] * std::numbers::log2e - found[2 * r]) / gate - 1) < tolerance);
    const double right = dot(through, outputs, r * dv, dv);
    const double scale = std::sqrt(norm * dot(outputs, outputs, r * dv, dv));
    CHECK(std::abs(found[2 * r + 1] - right) <= 4e-6 * scale);
  }
}

}  // namespace

TEST_CASE("attention rows on a GPU take the gate's d_o with row statistics", "[gpu][backward]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  for (const Stage stage : kAttends) {
    int launched = 0;
    for (const Variant* row : cuda_backward_rows(stage)) {
      if (!row->folds_gates) continue;
      for (const Dtype dtype : {Dtype::bf16, Dtype::fp16, Dtype::fp32}) {
        for (const Problem& p : problems(dtype)) {
          if (!supports(*row, p, *device).supported) continue;
          INFO(to_string(stage) << "/" << row->name << " on " << describe(p));
          check_branch(*row, p, make_backward_inputs(stage, p, 11), stream.get());
          ++launched;
        }
      }
    }
    CHECK(launched > 0);
  }
}

TEST_CASE("the gate's backward launch writes row statistics instead of branches' gradients",
          "[gpu][backward]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  std::vector<AttentionOptions> options(4);
  options[1].force_branch = Branch::sel;
  options[2].branches = kAllBranches & ~bit_of(Branch::win);
  options[3].uniform_gate = true;
  int launched = 0;
  for (const Variant* row : cuda_backward_rows(Stage::gate_combine)) {
    if (!row->folds_gates) continue;
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16, Dtype::fp32}) {
      for (const Problem& p : problems(dtype)) {
        for (const AttentionOptions& option : options) {
          INFO(describe(p) << ", branches " << option.branches << ", forced "
                           << forced_index(option));
          const BackwardInputs inputs = make_backward_inputs(Stage::gate_combine, p, 13, option);
          std::array<HostTensor, 3> lse;
          for (std::size_t b = 0; b < 3; ++b) {
            lse[b] = {"lse", {Dtype::fp32, 2, {p.total_tokens(), p.q_heads}}, {}};
            lse[b].make_room();
            for (std::int64_t r = 0; r < lse[b].view().elements(); ++r)
              lse[b].view().as<float>()[r] =
                  (r + static_cast<std::int64_t>(b)) % 11 == 0
                      ? -INFINITY
                      : static_cast<float>(r % 13) - 6 + 0.25f * static_cast<float>(b);
          }
          std::array<DeviceTensor, 3> on_device{DeviceTensor(lse[0], stream.get()),
                                                DeviceTensor(lse[1], stream.get()),
                                                DeviceTensor(lse[2], stream.get())};
          const GateRun apart = run_gate(*row, p, inputs, &on_device, 0, option, stream.get());
          for (const unsigned folded : {7u, 2u}) {
            const GateRun run = run_gate(*row, p, inputs, &on_device, folded, option, stream.get());
            if (sanitized()) continue;
            for (std::size_t b = 0; b < 3; ++b) {
              INFO("branch " << b);
              if ((folded >> b & 1u) == 0) {
                CHECK(run.gradients[1 + b].bytes == apart.gradients[1 + b].bytes);
                continue;
              }
              check_stats(run.stats[b], apart.gradients[1 + b], inputs.tensors[1 + b],
                          inputs.tensors[8], lse[b], static_cast<std::size_t>(p.head_dim_v),
                          gradient_tolerance(dtype));
            }
            for (const std::size_t other : {0u, 4u, 5u, 6u, 7u})
              CHECK(run.gradients[other].bytes == apart.gradients[other].bytes);
          }
          ++launched;
        }
      }
    }
  }
  CHECK(launched > 0);
}
