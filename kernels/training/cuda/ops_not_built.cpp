#include "nsa/schemas/error.hpp"
#include "training/ops.hpp"

namespace nsa::training {

const TrainingOps& cuda_training_ops() {
  throw EnvironmentError("this program was built without CUDA; take --device cpu");
}

}  // namespace nsa::training
