#include "nsa/schemas/error.hpp"
#include "training/upload.hpp"

namespace nsa::training {

std::unique_ptr<Upload> make_cuda_upload(std::size_t) {
  throw EnvironmentError("this program was built without CUDA; take --device cpu");
}

}  // namespace nsa::training
