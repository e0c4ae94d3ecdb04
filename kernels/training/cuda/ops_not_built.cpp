#include "nsa/schemas/error.hpp"
#include "training/ops.hpp"

namespace nsa::training {

const TrainingOps& cuda_training_ops() {
  throw EnvironmentError("training runs on a CPU only as yet; take --device cpu");
}

}  // namespace nsa::training
