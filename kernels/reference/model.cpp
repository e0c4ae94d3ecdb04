// The whole model in fp64. Its stages run the rows that the router takes by default, each of which
// the tests compare with the reference; what is measured is another storage type or another plan.
#include "nsa/kernels/backward_inputs.hpp"
#include "nsa/kernels/runtime.hpp"
#include "reference/oracle_rows.hpp"

namespace nsa::reference {

HostTensor model_logits(const Problem& problem, std::span<const TensorView> inputs,
                        const AttentionOptions& options, bool dense) {
  const NamedTensors in = inputs_of(Stage::model, inputs);
  Problem exact = problem;
  exact.dtype = Dtype::fp64;
  ModelConfig config = config_of(exact);
  if (dense) config.attention = AttentionKind::dense;
  const HostTensor weights = in_fp64(in["weights"]);
  HostTensor logits{"logits", {Dtype::fp64, 2, {exact.total_tokens(), exact.model.vocab_size}}, {}};
  logits.make_room();
  const Router router(Router::Inputs{});
  Workspace workspace;
  const Context context{.router = &router, .workspace = &workspace, .options = options};
  model_forward(context, config, exact, bind_weights(config, weights.view()), in["tokens"],
                logits.view());
  return logits;
}

}  // namespace nsa::reference
