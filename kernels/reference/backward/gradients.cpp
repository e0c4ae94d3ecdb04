#include "reference/backward/gradients.hpp"

#include "nsa/kernels/backward_inputs.hpp"
#include "nsa/kernels/directions.hpp"
#include "reference/first_row.hpp"

namespace nsa::reference {
namespace {

/// Multiply-adds that the reference, which is written to be read, may take.
constexpr double kMostOfReference = 1e8;

}  // namespace

double flop_of(Stage stage, const Problem& problem) {
  return candidates_of(stage, Backend::cpu)
      .front()
      ->cost(in_direction(problem, Direction::forward))
      .flop;
}

std::vector<HostTensor> run_in_fp64(Stage stage, const Problem& problem,
                                    std::span<const TensorView> inputs,
                                    const AttentionOptions& options) {
  Problem p = problem;
  p.dtype = Dtype::fp64;
  std::vector<HostTensor> exact;
  std::vector<TensorView> in, out;
  for (const TensorView& input : inputs) exact.push_back(in_fp64(input));
  for (const HostTensor& tensor : exact) in.push_back(tensor.view());
  std::vector<HostTensor> outputs = make_outputs(stage, p);
  for (const HostTensor& tensor : outputs) out.push_back(tensor.view());
  run_first_row(stage, p, in, out, options);
  return outputs;
}

std::vector<Row> gradients_by_row(Stage stage, const Problem& problem,
                                  std::span<const TensorView> inputs,
                                  const AttentionOptions& options) {
  std::vector<Row> rows;
  for (const HostTensor& tensor : run_in_fp64(stage, problem, inputs, options))
    rows.push_back(elements_of(tensor.view()));
  return rows;
}

std::vector<Row> gradients_of(Stage stage, const Problem& problem,
                              std::span<const TensorView> inputs, const AttentionOptions& options) {
  const bool small = flop_of(stage, problem) <= kMostOfReference;
  return small ? run_stage_backward(stage, problem, inputs, options)
               : gradients_by_row(stage, problem, inputs, options);
}

}  // namespace nsa::reference
