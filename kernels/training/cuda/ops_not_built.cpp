#include "nsa/schemas/error.hpp"
#include "training/ops.hpp"

namespace nsa::training {

const TrainingOps& cuda_training_ops() {
  throw EnvironmentError("training on a GPU: this build has no CUDA back end");
}

}  // namespace nsa::training
