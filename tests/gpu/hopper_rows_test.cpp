// Rows of Hopper at sizes that fill several of their tiles and rings, and what they do where they
// cannot read a tensor.
#include <array>

#include "gpu.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

constexpr std::array kProjection{Stage::project_rope};

/// Checks the row on the problem in bf16 and fp16; false where the device does not run it.
bool check_row(const Variant& row, Problem problem, const Device& device, CUstream_st* stream) {
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
    problem.dtype = dtype;
    if (!supports(row, problem, device).supported) return false;
    INFO(describe(problem) << " model_dim " << problem.model.model_dim);
    const auto inputs = make_inputs(row.stages, problem, 11);
    check_launch(row, problem, inputs, stream);
  }
  return true;
}

}  // namespace

TEST_CASE("projections with RoPE inside are right in every tile", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  const Variant& row = cuda_row(kProjection, "fused");
  std::vector<Problem> problems{
      small_problem({300}, {0}, 12, 2, 64, 64, Dtype::bf16),  // columns of the 125M model
      small_problem({129, 1, 77}, {60000, 5, 0}, 16, 1, 192, 128, Dtype::bf16),  // far positions
      small_problem({140}, {3}, 5, 5, 24, 40, Dtype::bf16),  // heads across tiles
  };
  problems[0].model.model_dim = 768;
  problems[1].model.model_dim = 520;  // ends inside of a tile
  problems[2].model.model_dim = 64;
  for (const Problem& problem : problems) {
    if (!check_row(row, problem, *device, stream.get())) {
      CHECK(device->compute_capability.value_or(0) != 90);
      return;
    }
  }
}

TEST_CASE("compressed attention with scores is right for every head dim it is built for", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  const Variant& row = cuda_row(kScored, "fused");
  for (const auto& [q_heads, dk, dv] :
       {std::array<std::int64_t, 3>{12, 64, 64}, {32, 128, 128}, {32, 192, 128}}) {
    Problem prefill = small_problem({1300, 21}, {0, 0}, q_heads, 2, dk, dv, Dtype::bf16);
    Problem behind = small_problem({9, 30}, {6000, 2100}, q_heads, 2, dk, dv, Dtype::bf16);
    for (Problem* problem : {&prefill, &behind}) {
      problem->geometry = Geometry{};
      if (!check_row(row, *problem, *device, stream.get())) {
        CHECK(device->compute_capability.value_or(0) != 90);
        return;
      }
    }
  }
}

TEST_CASE("rows that cannot read a tensor say that another ran", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  for (const Variant* row :
       {&cuda_row(kProjection, "fused"), &cuda_row(kSelected, "fused_block")}) {
    Problem problem = small_problem({90}, {0}, 12, 2, 64, 64, Dtype::bf16);
    problem.geometry = Geometry{};
    if (!supports(*row, problem, *device).supported) continue;
    const auto inputs = make_inputs(row->stages, problem, 5);
    for (const std::int64_t offset : {0, 1}) {  // elements: rows that do not begin at 16 bytes
      const auto in = upload(inputs, stream.get(), 0, offset);
      const auto out = upload(make_outputs(row->stages, problem), stream.get());
      Launchable launch(*row, problem, views(in), views(out), stream.get());
      launch.launch();
      device::synchronize(stream.get());
      INFO(row->name << " offset " << offset << " " << launch.fallback_reason());
      CHECK(launch.fallback_reason().empty() == (offset == 0));
    }
  }
}
