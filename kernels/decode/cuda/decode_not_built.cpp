#include "decode/step.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::decode {
namespace {

[[noreturn]] void refuse() {
  throw EnvironmentError("this program was built without CUDA; use --device cpu");
}

}  // namespace

void attend_step(const Problem&, const AttentionTensors&, const StepSequences&,
                 const AttentionOptions&, CUstream_st*) {
  refuse();
}
void advance(const Problem&, const CacheRows&, Standing*, Sequence*, Sequence*, CUstream_st*) {
  refuse();
}
void append_step(const Problem&, const AttentionTensors&, const CacheTensors&, const StepSequences&,
                 CUstream_st*) {
  refuse();
}

}  // namespace nsa::decode
