// Inputs of every stage from a seed.
#include "nsa/kernels/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "nsa/kernels/backward_inputs.hpp"
#include "nsa/kernels/parallel.hpp"
#include "nsa/kernels/planned_inputs.hpp"
#include "nsa/kernels/runtime.hpp"
#include "nsa/schemas/generator.hpp"
#include "reference/fill_generated.hpp"

namespace nsa {
namespace {

/// Divisor of a weight: sqrt of what is summed into one output; 1 for activations.
double fan_in_root(std::string_view name, const Problem& p) {
  std::int64_t fan_in = 1;
  if (name == "w_qkv") fan_in = p.model.model_dim;
  if (name == "w_o") fan_in = p.q_heads * p.head_dim_v;
  if (name == "fc1_w" || name == "fc1_b") fan_in = p.head_dim_k;
  if (name == "fc2_w" || name == "fc2_b") fan_in = std::max<std::int64_t>(1, p.head_dim_k / 2);
  return std::sqrt(static_cast<double>(std::max<std::int64_t>(1, fan_in)));
}

void fill_tokens(HostTensor& tensor, const Problem& p, std::uint64_t seed) {
  auto* ids = tensor.view().as<std::int32_t>();
  const double vocab = static_cast<double>(p.model.vocab_size);
  for (std::int64_t i = 0; i < tensor.view().elements(); ++i) {
    const double uniform = generate(static_cast<std::uint64_t>(i), seed, 1.0) + 0.5;
    ids[i] = static_cast<std::int32_t>(uniform * vocab);
  }
}

/// Calls f(sequence, position, stream, row) for every row of [tokens, kv_heads], on all CPUs.
template <class F>
void for_rows(const Problem& p, F f) {
  std::uint64_t batch = 0;
  for (const Sequence& s : sequences_of(p)) {
    parallel_for(0, s.q_len, 64, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) {
        for (std::int64_t g = 0; g < p.kv_heads; ++g) {
          f(s, s.first_position() + i,
            batch * static_cast<std::uint64_t>(p.kv_heads) + static_cast<std::uint64_t>(g),
            (s.q_begin + i) * p.kv_heads + g);
        }
      }
    });
    ++batch;
  }
}

void fill_blocks(HostTensor& tensor, const Problem& p, std::uint64_t seed) {
  auto* blocks = tensor.view().as<std::int32_t>();
  for_rows(p, [&](const Sequence&, std::int64_t position, std::uint64_t stream, std::int64_t row) {
    pattern_blocks(p, position, stream, seed, blocks + row * p.geometry.sel_count);
  });
}

void fill_ranges(HostTensor& tensor, const Problem& p, const std::int32_t* blocks) {
  auto* ranges = tensor.view().as<std::int32_t>();
  const std::int64_t n = p.geometry.sel_count;
  for_rows(p, [&](const Sequence& s, std::int64_t position, std::uint64_t, std::int64_t row) {
    blocks_to_ranges(p.geometry, position, num_blocks(s.kv_len, p.geometry), blocks + row * n,
                     ranges + row * n * 2);
  });
}

}  // namespace

TensorView HostTensor::view() const noexcept {
  TensorView view{const_cast<std::byte*>(bytes.data()), shape.dtype, shape.rank, shape.shape, {}};
  std::int64_t stride = 1;
  for (int i = shape.rank; i-- > 0;) {
    view.stride[static_cast<std::size_t>(i)] = stride;
    stride *= shape.shape[static_cast<std::size_t>(i)];
  }
  return view;
}

void HostTensor::make_room() { bytes.resize(view().bytes()); }

void HostTensor::fill(std::byte value) {
  make_room();
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  parallel_for(0, std::ssize(bytes), kPiece, [&](std::int64_t from, std::int64_t to) {
    std::fill(bytes.begin() + from, bytes.begin() + to, value);
  });
}

std::vector<HostTensor> make_inputs(Stage stage, const Problem& problem, std::uint64_t seed) {
  return make_inputs(std::span(&stage, 1), problem, seed);
}

std::vector<HostTensor> make_inputs(std::span<const Stage> stages, const Problem& problem,
                                    std::uint64_t seed) {
  PlannedInputs planned = plan_inputs(stages, problem, seed);
  generate(planned);
  return std::move(planned.tensors);
}

PlannedInputs plan_inputs(std::span<const Stage> stages, const Problem& problem,
                          std::uint64_t seed) {
  PlannedInputs planned;
  if (problem.direction == Direction::backward) {
    expects(stages.size() == 1, "one stage of a backward pass");
    BackwardInputs made = make_backward_inputs(stages.front(), problem, seed);
    std::ranges::move(made.kept, std::back_inserter(made.tensors));
    planned.tensors = std::move(made.tensors);
    return planned;
  }
  for (const TensorSpec& spec : signature_of(stages, problem.direction).inputs) {
    const std::size_t index = planned.tensors.size();
    const std::uint64_t own_seed = seed + index;
    HostTensor tensor{std::string(spec.name), shape_of(stages, spec.name, problem), {}};
    if (spec.name == "blocks") {
      tensor.make_room();
      fill_blocks(tensor, problem, own_seed);
    } else if (spec.name == "ranges") {  // follows the blocks, which stand before it
      tensor.make_room();
      fill_ranges(tensor, problem, planned.tensors.back().view().as<const std::int32_t>());
    } else if (spec.name == "tokens" || spec.name == "targets") {
      tensor.make_room();
      fill_tokens(tensor, problem, own_seed);
    } else if (spec.name == "weights") {  // of a whole model: each with a scale of its own
      tensor.bytes = make_weights(config_of(problem), own_seed).bytes;
    } else {
      planned.generated.push_back(
          {index, own_seed, kUnitVarianceScale / fan_in_root(spec.name, problem)});
    }
    planned.tensors.push_back(std::move(tensor));
  }
  return planned;
}

void generate(PlannedInputs& inputs) {
  for (const GeneratedTensor& how : inputs.generated) {
    HostTensor& tensor = inputs.tensors[how.index];
    tensor.make_room();
    reference::fill_generated(tensor.view(), how.seed, how.scale);
  }
  inputs.generated.clear();
}

std::vector<HostTensor> output_shapes(std::span<const Stage> stages, const Problem& problem) {
  std::vector<HostTensor> shapes;
  for (const TensorSpec& spec : signature_of(stages, problem.direction).outputs)
    shapes.push_back({std::string(spec.name), shape_of(stages, spec.name, problem), {}});
  return shapes;
}

std::vector<HostTensor> make_outputs(Stage stage, const Problem& problem) {
  return make_outputs(std::span(&stage, 1), problem);
}

std::vector<HostTensor> make_outputs(std::span<const Stage> stages, const Problem& problem) {
  std::vector<HostTensor> outputs = output_shapes(stages, problem);
  for (HostTensor& output : outputs) output.fill(kPoison);
  return outputs;
}

}  // namespace nsa
