// What a build without CUDA has of a training step on a GPU: the reason why there is none.
#include "nsa/schemas/error.hpp"
#include "training/ops.hpp"
#include "training/upload.hpp"

namespace nsa::training {
namespace {

constexpr const char* kReason = "this program was built without CUDA; take --device cpu";

}  // namespace

const TrainingOps& cuda_training_ops() { throw EnvironmentError(kReason); }

std::unique_ptr<Upload> make_cuda_upload(std::size_t) { throw EnvironmentError(kReason); }

}  // namespace nsa::training
