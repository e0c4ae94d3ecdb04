// Both passes of the composites, stage by stage.
#include <cstring>

#include "nsa/kernels/backward_inputs.hpp"
#include "nsa/kernels/directions.hpp"
#include "reference/backward/gradients.hpp"
#include "reference/first_row.hpp"
#include "reference/oracle_rows.hpp"
#include "runtime/dense.hpp"

namespace nsa::reference {
namespace {

using Views = std::vector<TensorView>;

/// The first output of a stage in fp64.
HostTensor forward(Stage stage, const Problem& problem, const Views& in,
                   const AttentionOptions& options) {
  return std::move(run_in_fp64(stage, problem, in, options).front());
}

/// Rounded to the dtype of `like`, in its shape.
HostTensor stored(const Row& exact, const TensorView& like) {
  HostTensor wide{"", {Dtype::fp64, like.rank, like.shape}, {}};
  wide.bytes.resize(exact.size() * sizeof(double));
  std::memcpy(wide.bytes.data(), exact.data(), wide.bytes.size());
  return in_dtype(wide.view(), like.dtype);
}

// Inputs; the gradient of input i is output 2 + i.
constexpr std::size_t kQ = 0, kCmp = 1, kSel = 3, kWin = 5, kGate = 7, kDO = 11;

class AttentionPasses {
 public:
  AttentionPasses(const Problem& problem, std::span<const TensorView> in,
                  const AttentionOptions& options)
      : forward_(in_direction(problem, Direction::forward)),
        backward_(in_direction(problem, Direction::backward)),
        in_(in),
        options_(options),
        made_(2) {
    for (const TensorView& input : in.first(kDO))
      made_.emplace_back(static_cast<std::size_t>(input.elements()), 0.0);
  }
  std::vector<Row> take() { return std::move(made_); }

  void dense() {
    const HostTensor o =
        keep_o(forward(Stage::attend_window, dense_problem(forward_), {q(), k(kSel), v(kSel)}));
    attend(Stage::attend_window, dense_problem(backward_), kSel,
           {q(), k(kSel), v(kSel), o.view(), in_[kDO]});
  }

  void nsa(const TensorView& blocks) {
    const std::vector<HostTensor> pooled =
        derive(Stage::attention, forward_, in_.first(kDO), options_);
    const TensorView k_cmp = pooled[0].view(), v_cmp = pooled[1].view();
    const HostTensor ranges = forward(Stage::ranges, forward_, {blocks});
    const HostTensor o[] = {
        stored(forward(Stage::attend_compressed, forward_, {q(), k_cmp, v_cmp})),
        stored(forward(Stage::attend_selected, forward_,
                       {q(), k(kSel), v(kSel), blocks, ranges.view()})),
        stored(forward(Stage::attend_window, forward_, {q(), k(kWin), v(kWin)}))};
    const std::vector<HostTensor> d_o = combine(o);
    attend(Stage::attend_selected, backward_, kSel,
           {q(), k(kSel), v(kSel), blocks, ranges.view(), o[1].view(), d_o[1].view()});
    attend(Stage::attend_window, backward_, kWin,
           {q(), k(kWin), v(kWin), o[2].view(), d_o[2].view()});
    if (k_cmp.shape[0] == 0) return;  // sequences shorter than a block
    const std::vector<Row> d =
        gradients_of(Stage::attend_compressed, backward_,
                     Views{q(), k_cmp, v_cmp, o[0].view(), d_o[0].view()}, options_);
    add(kQ, d[0]);
    const HostTensor d_k = reference::stored(d[1], k_cmp), d_v = reference::stored(d[2], v_cmp);
    const std::vector<Row> raw =
        gradients_of(Stage::compress, backward_, Views{d_k.view(), d_v.view()}, options_);
    add(kCmp, raw[0]);
    add(kCmp + 1, raw[1]);
  }

 private:
  const TensorView& q() const { return in_[kQ]; }
  const TensorView& k(std::size_t branch) const { return in_[branch]; }
  const TensorView& v(std::size_t branch) const { return in_[branch + 1]; }

  HostTensor forward(Stage stage, const Problem& problem, const Views& in) const {
    return reference::forward(stage, problem, in, options_);
  }
  HostTensor stored(const HostTensor& exact) const {
    return in_dtype(exact.view(), forward_.dtype);
  }
  HostTensor keep_o(const HostTensor& exact) {
    made_[0] = elements_of(exact.view());
    return stored(exact);
  }
  /// To the gradient of an input.
  void add(std::size_t input, const Row& gradient) {
    Row& sum = made_[2 + input];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
  }
  void attend(Stage stage, const Problem& problem, std::size_t branch, const Views& in) {
    const std::vector<Row> d = gradients_of(stage, problem, in, options_);
    add(kQ, d[0]);
    add(branch, d[1]);
    add(branch + 1, d[2]);
  }
  /// The gate in both passes, and the gradients of the branches.
  std::vector<HostTensor> combine(std::span<const HostTensor> o) {
    Views in{q(), o[0].view(), o[1].view(), o[2].view()};
    in.insert(in.end(), in_.begin() + kGate, in_.begin() + kDO);
    keep_o(forward(Stage::gate_combine, forward_, in));
    in.push_back(in_[kDO]);
    const std::vector<Row> d = gradients_of(Stage::gate_combine, backward_, in, options_);
    add(kQ, d[0]);
    for (std::size_t i = 0; i < kDO - kGate; ++i) add(kGate + i, d[4 + i]);
    std::vector<HostTensor> branches;
    for (std::size_t i = 0; i < 3; ++i) branches.push_back(reference::stored(d[1 + i], in_[kDO]));
    return branches;
  }

  const Problem forward_, backward_;
  std::span<const TensorView> in_;
  const AttentionOptions& options_;
  std::vector<Row> made_;
};

}  // namespace

std::vector<Row> run_attention_passes(const Problem& problem, std::span<const TensorView> inputs,
                                      const TensorView& blocks, const AttentionOptions& options,
                                      bool dense) {
  AttentionPasses passes(problem, inputs, options);
  dense ? passes.dense() : passes.nsa(blocks);
  return passes.take();
}

std::vector<Row> run_layer_passes(const Problem& problem, std::span<const TensorView> inputs,
                                  const TensorView& blocks, const AttentionOptions& options,
                                  bool dense) {
  constexpr std::size_t kX = 0, kWQkv = 1, kGate = 2, kWO = 6, kDY = 7;
  const Problem forward_problem = in_direction(problem, Direction::forward);
  const Problem backward = in_direction(problem, Direction::backward);
  std::vector<HostTensor> projected =
      derive(Stage::layer, forward_problem, inputs.first(kDY), options);
  projected.resize(projections(problem).size());  // without the pooled rows

  HostTensor o{"", shape_of(Stage::out_proj, "o", forward_problem), {}};
  o.bytes.resize(o.view().bytes());  // d_o does not need it
  const auto out_proj_backward = [&] {
    return gradients_of(Stage::out_proj, backward, Views{o.view(), inputs[kWO], inputs[kDY]},
                        options);
  };
  const HostTensor d_o = stored(out_proj_backward().front(), o.view());
  Views in;
  for (const HostTensor& tensor : projected) in.push_back(tensor.view());
  in.insert(in.end(), inputs.begin() + kGate, inputs.begin() + kWO);
  in.push_back(d_o.view());
  std::vector<Row> passes = run_attention_passes(problem, in, blocks, options, dense);

  std::vector<Row> made(2);
  o = stored(passes[0], o.view());
  made[0] = elements_of(
      forward(Stage::out_proj, forward_problem, {o.view(), inputs[kWO]}, options).view());
  std::vector<HostTensor> gradients;
  Views of_projected{inputs[kX], inputs[kWQkv]};
  for (std::size_t i = 0; i < projected.size(); ++i)
    gradients.push_back(stored(passes[2 + i], projected[i].view()));
  for (const HostTensor& tensor : gradients) of_projected.push_back(tensor.view());
  for (Row& one : gradients_of(Stage::project_rope, backward, of_projected, options))
    made.push_back(std::move(one));
  const auto of_gate = passes.begin() + 2 + static_cast<std::ptrdiff_t>(projected.size());
  made.insert(made.end(), of_gate, passes.end());
  made.push_back(std::move(out_proj_backward().back()));
  return made;
}

Row run_model_passes(const Problem& problem, std::span<const TensorView> inputs,
                     const AttentionOptions& options, bool dense) {
  Problem exact = problem;
  exact.dtype = Dtype::fp64;
  const HostTensor weights = in_fp64(inputs[2]);
  const Views in{inputs[0], inputs[1], weights.view()};
  const std::vector<HostTensor> made = make_outputs(Stage::model, exact);
  const Views out{made.front().view()};
  const Router router(Router::Inputs{});
  for (const Variant& row : catalog()) {
    const bool whole = row.stages.size() == 1 && row.stages.front() == Stage::model;
    if (!whole || row.backend != Backend::cpu || row.direction != problem.direction ||
        (row.role == Role::baseline) != dense)
      continue;
    run_row(row, exact, in, out, options, nullptr, &router);
    return elements_of(made.front().view());
  }
  throw ContractError("expected: a CPU row of both passes of a model");
}

}  // namespace nsa::reference
