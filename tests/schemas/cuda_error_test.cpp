#include "nsa/schemas/cuda/out_of_memory.hpp"

#include "catch.hpp"

using namespace nsa;

namespace {

CudaError error_of(int code) {
  return {code, "cudaErrorName", "the words of CUDA", "cudaCall(x)",
          std::source_location::current()};
}

}  // namespace

TEST_CASE("a CUDA error that a user can do something about says what", "[schemas]") {
  CHECK(advice_for(error_of(46)).find("another process holds the GPU") == 0);
  CHECK(advice_for(error_of(2)).find("nvidia-smi") != std::string::npos);
  CHECK(advice_for(error_of(209)).find("NSA_CUDA_ARCHITECTURES") != std::string::npos);
}

TEST_CASE("a CUDA error that nobody expects is told whole", "[schemas]") {
  const std::string text = advice_for(error_of(700));
  for (const char* part : {"cudaCall(x)", "cudaErrorName (700)", "the words of CUDA"})
    CHECK(text.find(part) != std::string::npos);
}

TEST_CASE("only a failed allocation counts as too little memory", "[schemas]") {
  CHECK(is_out_of_memory(error_of(2)));
  for (const int code : {0, 1, 46, 700}) CHECK_FALSE(is_out_of_memory(error_of(code)));
}
