// Rows of both passes of a composite on a device against the oracle, outputs and gradients.
#include "gpu.hpp"
#include "nsa/kernels/directions.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16, Dtype::fp32}) {
    all.push_back(small_problem({70}, {0}, 12, 2, 64, 64, dtype));
    if (sanitized()) continue;
    all.push_back(small_problem({1, 37, 129}, {0, 0, 0}, 6, 2, 32, 96, dtype));  // ragged
    all.push_back(small_problem({67}, {0}, 16, 1, 192, 128, dtype));             // the paper's dims
    Problem wide = small_problem({600}, {0}, 12, 2, 64, 64, dtype);
    wide.geometry = Geometry{};  // the default
    all.push_back(wide);
  }
  for (Problem& problem : all) problem = in_direction(std::move(problem), kForwardBackward);
  return all;
}

std::vector<const Variant*> rows_of_both_passes() {
  return cuda_rows([](const Variant& row) { return row.direction == kForwardBackward; });
}

}  // namespace

TEST_CASE("CUDA rows of both passes give the oracle's outputs and gradients", "[gpu][backward]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  for (const Stage composite : {Stage::attention, Stage::layer, Stage::model}) {
    int launched = 0;
    for (const Variant* row : rows_of_both_passes()) {
      const Variant& variant = *row;
      if (variant.stages.front() != composite) continue;
      for (const Problem& problem : problems()) {
        const Support support = supports(variant, problem, *device);
        if (!support.supported) continue;
        INFO(to_string(composite) << "/" << variant.name << " " << describe(problem));
        const auto inputs = make_inputs(variant.stages, problem, 7);
        const auto produced = produce(variant, problem, inputs, stream.get());
        check_with_oracle(variant, problem, inputs, produced);
        if (variant.deterministic && !sanitized()) {
          check_same_bits(produced, produce(variant, problem, inputs, stream.get()));
        }
        ++launched;
      }
    }
    CHECK(launched > 0);
  }
}

TEST_CASE("both passes on a device take no more workspace than they said", "[gpu][backward]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  for (const Variant* row : rows_of_both_passes()) {
    const Variant& variant = *row;
    for (const Problem& problem : problems()) {
      if (!supports(variant, problem, *device).supported) continue;
      INFO(to_string(variant.stages.front()) << "/" << variant.name << " " << describe(problem));
      const auto in = upload(make_inputs(variant.stages, problem, 7), stream.get());
      const auto out = upload(make_outputs(variant.stages, problem), stream.get());
      Launchable launchable(variant, problem, views(in), views(out), stream.get());
      launchable.launch();
      CHECK(launchable.workspace_bytes() > 0);
      CHECK(launchable.workspace_bytes() <= workspace_of(variant, problem));
    }
  }
}
