// Both passes of the composites, stage by stage.
#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "nsa/kernels/backward_inputs.hpp"
#include "nsa/kernels/directions.hpp"
#include "nsa/kernels/parallel.hpp"
#include "reference/backward/gradients.hpp"
#include "reference/first_row.hpp"
#include "reference/oracle_rows.hpp"
#include "runtime/dense.hpp"

namespace nsa::reference {
namespace {

using Views = std::vector<TensorView>;

/// Rounded to the dtype of `like`, in its shape.
HostTensor stored(const Row& exact, const TensorView& like) {
  TensorView wide = HostTensor{"", {Dtype::fp64, like.rank, like.shape}, {}}.view();
  wide.data = const_cast<double*>(exact.data());  // is read
  return in_dtype(wide, like.dtype);
}

/// Both passes of attention or a layer. Tensors have the names of the stages' signatures, by which
/// a stage finds what those before it made.
class Passes {
 public:
  Passes(Stage composite, const Problem& problem, std::span<const TensorView> inputs,
         const AttentionOptions& options)
      : composite_(composite),
        forward_(in_direction(problem, Direction::forward)),
        backward_(in_direction(problem, Direction::backward)),
        inputs_(inputs),
        options_(options) {
    const Signature signature = signature_of(composite, kForwardBackward);
    for (std::size_t i = 0; i < signature.inputs.size(); ++i)
      tensors_.emplace(signature.inputs[i].name, inputs[i]);
    for (const TensorSpec& output : signature.outputs) made_[output.name];
  }

  /// The composite's outputs; zeros for a gradient that nothing was given to.
  std::vector<Row> take() {
    std::vector<Row> rows;
    for (const TensorSpec& output : signature_of(composite_, kForwardBackward).outputs) {
      Row& row = rows.emplace_back(std::move(made_.at(output.name)));
      if (row.empty() && output.name.starts_with("d_"))
        row.resize(static_cast<std::size_t>(tensor(output.name.substr(2)).elements()));
    }
    return rows;
  }

  void attention(const TensorView& blocks) {
    keep_derived();
    tensors_["blocks"] = blocks;
    keep("ranges", in_fp64_of(Stage::ranges));
    forward(Stage::attend_compressed, "o_cmp");
    forward(Stage::attend_selected, "o_sel");
    forward(Stage::attend_window, "o_win");
    made_["o"] = elements_of(in_fp64_of(Stage::gate_combine).view());
    backward(Stage::gate_combine);
    backward(Stage::attend_selected);
    backward(Stage::attend_window);
    if (tensor("k_cmp").shape[0] == 0) return;  // sequences shorter than a block
    backward(Stage::attend_compressed);
    backward(Stage::compress);
  }

  /// The window stage over the keys of the selected branch.
  void dense_attention() {
    Views views{tensor("q"), tensor("k_sel"), tensor("v_sel")};
    const Stage stage = Stage::attend_window;
    const HostTensor exact =
        std::move(run_in_fp64(stage, dense_problem(forward_), views, options_).front());
    made_["o"] = elements_of(exact.view());
    const HostTensor o = in_dtype(exact.view(), forward_.dtype);
    views.insert(views.end(), {o.view(), tensor("d_o")});
    std::vector<Row> d = gradients_of(stage, dense_problem(backward_), views, options_);
    give("d_q", std::move(d[0]));
    give("d_k_sel", std::move(d[1]));
    give("d_v_sel", std::move(d[2]));
  }

  void layer(const TensorView& blocks, bool dense) {
    keep_derived();
    HostTensor zeros{"", shape_of(Stage::out_proj, "o", forward_), {}};
    zeros.fill(std::byte{0});
    keep("o", std::move(zeros));  // d_o does not need it
    keep("d_o", stored(gradients(Stage::out_proj).front(), tensor("o")));

    const Signature attention = signature_of(Stage::attention, kForwardBackward);
    std::vector<Row> of_attention =
        run_attention_passes(in_direction(forward_, kForwardBackward), tensors(attention.inputs),
                             blocks, options_, dense);
    for (std::size_t i = 0; i < of_attention.size(); ++i) {
      const std::string_view name = attention.outputs[i].name;
      if (name == "o") keep(name, stored(of_attention[i], tensor(name)));
      if (name.starts_with("d_")) give(name, std::move(of_attention[i]));
    }
    made_["y"] = elements_of(in_fp64_of(Stage::out_proj).view());
    backward(Stage::project_rope);
    backward(Stage::out_proj);
  }

 private:
  const TensorView& tensor(std::string_view name) const {
    const auto found = tensors_.find(name);
    expects(found != tensors_.end(), "a tensor that was made before");
    return found->second;
  }
  Views tensors(std::span<const TensorSpec> specs) const {
    Views views;
    for (const TensorSpec& spec : specs) views.push_back(tensor(spec.name));
    return views;
  }
  void keep(std::string_view name, HostTensor tensor) {
    tensors_.insert_or_assign(std::string(name), kept_.emplace_back(std::move(tensor)).view());
  }
  /// What is projected and pooled.
  void keep_derived() {
    for (HostTensor& derived : derive(composite_, forward_, inputs_, options_)) {
      const std::string name = derived.name;
      keep(name, std::move(derived));
    }
  }

  /// The first output of a stage.
  HostTensor in_fp64_of(Stage stage) const {
    return std::move(
        run_in_fp64(stage, forward_, tensors(signature_of(stage).inputs), options_).front());
  }
  void forward(Stage stage, std::string_view output) {
    keep(output, in_dtype(in_fp64_of(stage).view(), forward_.dtype));
  }
  std::vector<Row> gradients(Stage stage) const {
    const auto inputs = tensors(signature_of(stage, Direction::backward).inputs);
    return gradients_of(stage, backward_, inputs, options_);
  }
  void backward(Stage stage) {
    std::vector<Row> d = gradients(stage);
    for (std::size_t i = 0; i < d.size(); ++i)
      give(signature_of(stage, Direction::backward).outputs[i].name, std::move(d[i]));
  }
  /// Adds it to the gradient of an input. That of what lies between the stages is kept for the next
  /// one, as it is stored.
  void give(std::string_view name, Row gradient) {
    const auto found = made_.find(name);
    if (found == made_.end()) return keep(name, stored(gradient, tensor(name.substr(2))));
    Row& sum = found->second;
    if (sum.empty()) {
      sum = std::move(gradient);
      return;
    }
    constexpr std::int64_t kPiece = 1 << 16;
    parallel_for(0, std::ssize(sum), kPiece, [&](std::int64_t from, std::int64_t to) {
      std::transform(sum.begin() + from, sum.begin() + to, gradient.begin() + from,
                     sum.begin() + from, std::plus<>());
    });
  }

  const Stage composite_;
  const Problem forward_, backward_;
  std::span<const TensorView> inputs_;
  const AttentionOptions& options_;
  std::list<HostTensor> kept_;
  std::map<std::string, TensorView, std::less<>> tensors_;
  std::map<std::string_view, Row> made_;  // the composite's outputs
};

}  // namespace

std::vector<Row> run_attention_passes(const Problem& problem, std::span<const TensorView> inputs,
                                      const TensorView& blocks, const AttentionOptions& options,
                                      bool dense) {
  Passes passes(Stage::attention, problem, inputs, options);
  dense ? passes.dense_attention() : passes.attention(blocks);
  return passes.take();
}

std::vector<Row> run_layer_passes(const Problem& problem, std::span<const TensorView> inputs,
                                  const TensorView& blocks, const AttentionOptions& options,
                                  bool dense) {
  Passes passes(Stage::layer, problem, inputs, options);
  passes.layer(blocks, dense);
  return passes.take();
}

Row run_model_passes(const Problem& problem, std::span<const TensorView> inputs,
                     const AttentionOptions& options, bool dense) {
  Problem exact = problem;
  exact.dtype = Dtype::fp64;
  const NamedTensors of_model = inputs_of(Stage::model, inputs, kForwardBackward);
  const HostTensor weights = in_fp64(of_model["weights"]);
  const Views in{of_model["tokens"], of_model["targets"], weights.view()};
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
