// Inputs of the backward pass from a seed, with the forward pass run once for what it writes.
#include "nsa/kernels/backward_inputs.hpp"

#include <algorithm>
#include <array>

#include "cpu/convert.hpp"
#include "nsa/kernels/parallel.hpp"
#include "nsa/schemas/generator.hpp"
#include "reference/fill_generated.hpp"
#include "reference/first_row.hpp"

namespace nsa {
namespace {

constexpr std::uint64_t kGradientSeed = 100;

HostTensor zeros(std::string_view name, const TensorShape& shape) {
  HostTensor tensor{std::string(name), shape, {}};
  tensor.fill(std::byte{0});
  return tensor;
}

/// The same numbers in another type; ids stay as they are.
HostTensor converted(const HostTensor& from, Dtype dtype) {
  HostTensor to = in_dtype(from.view(), dtype);
  to.name = from.name;
  return to;
}

void multiply(HostTensor& tensor, double factor) {
  const TensorView view = tensor.view();
  for (std::int64_t i = 0; i < view.elements(); ++i) {
    double value = 0;
    load_row(view, i, 1, &value);
    value *= factor;
    store_row(view, i, 1, &value);
  }
}

bool has(std::span<const TensorSpec> specs, std::string_view name) {
  return std::ranges::any_of(specs, [&](const TensorSpec& spec) { return spec.name == name; });
}

Problem forward_of(const Problem& problem, Dtype dtype) {
  Problem p = problem;
  p.direction = Direction::forward;
  p.dtype = dtype;
  return p;
}

/// Output and log-sum-exp of an attention stage.
struct ForwardPass {
  HostTensor output, lse;
};

Saved saved_of(const HostTensor& lse) {
  Saved saved;
  const TensorView view = lse.view();
  (lse.name == "lse_cmp"   ? saved.lse_cmp
   : lse.name == "lse_sel" ? saved.lse_sel
                           : saved.lse_win) = view;
  return saved;
}

std::string_view lse_name(Stage stage) {
  return stage == Stage::attend_compressed ? "lse_cmp"
         : stage == Stage::attend_selected ? "lse_sel"
                                           : "lse_win";
}

bool is_attention(Stage stage) {
  return stage == Stage::attend_compressed || stage == Stage::attend_selected ||
         stage == Stage::attend_window;
}

/// By the first row of the built-in order that runs it, in fp64.
ForwardPass run_forward(Stage stage, const Problem& problem, const std::vector<HostTensor>& inputs,
                        const AttentionOptions& options) {
  const Problem p = forward_of(problem, Dtype::fp64);
  ForwardPass pass;
  pass.lse = zeros(lse_name(stage), {Dtype::fp32, 2, {p.total_tokens(), p.q_heads}});
  Saved saved = saved_of(pass.lse);
  std::vector<TensorView> in;
  for (const HostTensor& tensor : inputs) in.push_back(tensor.view());
  std::vector<HostTensor> outputs = make_outputs(stage, p);
  const std::vector<TensorView> out{outputs.front().view()};
  reference::run_first_row(stage, p, in, out, options, &saved);
  pass.output = std::move(outputs.front());
  return pass;
}

}  // namespace

HostTensor in_dtype(const TensorView& tensor, Dtype dtype) {
  expects(tensor.contiguous(), "a contiguous tensor");
  const bool same = tensor.dtype == Dtype::int32 || tensor.dtype == dtype;
  HostTensor copy{"", {same ? tensor.dtype : dtype, tensor.rank, tensor.shape}, {}};
  copy.make_room();
  const TensorView to = copy.view();
  constexpr std::int64_t kPiece = 4096;
  parallel_for(0, tensor.elements(), kPiece, [&](std::int64_t begin, std::int64_t end) {
    if (same) {
      const auto size = static_cast<std::int64_t>(size_of(tensor.dtype));
      const auto* from = tensor.as<const std::byte>();
      std::copy(from + begin * size, from + end * size, to.as<std::byte>() + begin * size);
      return;
    }
    std::array<double, kPiece> piece;
    for (std::int64_t at = begin; at < end; at += kPiece) {
      const std::int64_t count = std::min(kPiece, end - at);
      load_row(tensor, at, count, piece.data());
      store_row(to, at, count, piece.data());
    }
  });
  return copy;
}

std::vector<TensorView> BackwardInputs::views() const {
  std::vector<TensorView> views;
  for (const HostTensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

Saved BackwardInputs::saved() const { return kept.empty() ? Saved{} : saved_of(kept.front()); }

BackwardInputs make_backward_inputs(Stage stage, const Problem& problem, std::uint64_t seed,
                                    const AttentionOptions& options, double query_factor) {
  const Problem forward = forward_of(problem, problem.dtype);
  std::vector<HostTensor> made = make_inputs(stage, forward, seed);
  for (HostTensor& tensor : made)
    if (query_factor != 1 && tensor.name == "q") multiply(tensor, query_factor);
  ForwardPass pass;
  if (is_attention(stage)) {
    std::vector<HostTensor> exact;
    for (const HostTensor& tensor : made) exact.push_back(converted(tensor, Dtype::fp64));
    pass = run_forward(stage, problem, exact, options);
  }
  Problem backward = problem;
  backward.direction = Direction::backward;
  const Signature forward_signature = signature_of(stage);
  BackwardInputs inputs;
  for (const TensorSpec& spec : signature_of(stage, Direction::backward).inputs) {
    if (has(forward_signature.inputs, spec.name)) {
      inputs.tensors.push_back(*std::ranges::find(made, spec.name, &HostTensor::name));
    } else if (is_attention(stage) && spec.name == pass.output.name) {
      inputs.tensors.push_back(converted(pass.output, problem.dtype));
    } else {
      HostTensor gradient = zeros(spec.name, shape_of(stage, spec.name, backward));
      reference::fill_generated(gradient.view(), seed + kGradientSeed + inputs.tensors.size(),
                                kUnitVarianceScale);
      inputs.tensors.push_back(std::move(gradient));
    }
  }
  if (is_attention(stage)) inputs.kept.push_back(std::move(pass.lse));
  return inputs;
}

}  // namespace nsa
