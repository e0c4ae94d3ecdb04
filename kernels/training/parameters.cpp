#include "training/memory.hpp"

namespace nsa::training {

std::vector<Trainer::NamedTensor> named_parameters(const ModelConfig& config,
                                                   const TensorView& flat) {
  const ModelWeights weights = bind_weights(config, flat);
  std::vector<Trainer::NamedTensor> all{{"embedding", weights.embedding}};
  for (std::size_t i = 0; i < weights.blocks.size(); ++i) {
    const BlockWeights& b = weights.blocks[i];
    const GateWeights& g = b.attention.gate;
    const std::pair<const char*, const TensorView*> parts[] = {
        {"norm1", &b.norm1},
        {"attention.w_qkv", &b.attention.w_qkv},
        {"attention.gate.fc1_w", &g.fc1_w},
        {"attention.gate.fc1_b", &g.fc1_b},
        {"attention.gate.fc2_w", &g.fc2_w},
        {"attention.gate.fc2_b", &g.fc2_b},
        {"attention.w_o", &b.attention.w_o},
        {"norm2", &b.norm2},
        {"mlp.w_up", &b.w_up},
        {"mlp.w_down", &b.w_down}};
    for (const auto& [name, view] : parts)
      all.push_back({"layers." + std::to_string(i) + "." + name, *view});
  }
  all.push_back({"final_norm", weights.final_norm});
  all.push_back({"lm_head", weights.lm_head});
  return all;
}

}  // namespace nsa::training
