// Every backward row of the GPU against the fp64 reference.
#include "backward_support.hpp"

#include <algorithm>
#include <cmath>

#include "cpu/convert.hpp"
#include "cuda/backward/band/plan.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

Problem with_geometry(Problem p, const Geometry& geometry) {
  p.geometry = geometry;
  return p;
}

/// Shapes that the tiles are made for and others, ragged batches, chunks after contexts.
std::vector<Problem> problems(Dtype dtype) {
  const Geometry blocks_of_64{32, 16, 64, 5, 70};
  std::vector<Problem> all{
      with_geometry(small_problem({203}, {0}, 12, 2, 64, 64, dtype), blocks_of_64),
      small_problem({70}, {0}, 6, 2, 40, 30, dtype),
      with_geometry(small_problem({7, 21}, {29, 164}, 12, 2, 64, 64, dtype), blocks_of_64)};
  if (sanitized()) return all;
  all.push_back(with_geometry(small_problem({150}, {0}, 32, 2, 128, 128, dtype), blocks_of_64));
  all.push_back(with_geometry(small_problem({131}, {0}, 8, 1, 192, 128, dtype), blocks_of_64));
  all.push_back(small_problem({40}, {17}, 4, 2, 256, 256, dtype));
  all.push_back(small_problem({5, 1, 67}, {0, 0, 0}, 7, 1, 80, 72, dtype));
  // Blocks of several tiles, the last of them short; no window.
  all.push_back(with_geometry(small_problem({333}, {0}, 6, 2, 64, 64, dtype), {16, 8, 144, 3, 0}));
  all.push_back(with_geometry(small_problem({90}, {0}, 10, 2, 18, 7, dtype), {4, 2, 6, 9, 500}));
  return all;
}

struct Check {
  Dtype gradients;
  double tolerance;
  BackwardRun run{};
};

void check_row(const Variant& row, const Problem& p, const BackwardInputs& inputs,
               const std::vector<reference::Row>& expected, Check check, CUstream_st* stream) {
  const Stage stage = row.stages.front();
  // The points of a product choose an algorithm: one will do.
  auto ids = ids_of(row);
  if (row.missing) ids.resize(1);
  for (const VariantId& id : ids) {
    check.run.point = id.point;
    INFO(to_string(id) << " backward on " << describe(p) << ", gradients in "
                       << to_string(check.gradients) << ", gap " << check.run.row_gap);
    const auto produced = launch_backward(row, p, inputs, make_gradients(stage, p, check.gradients),
                                          stream, check.run);
    if (sanitized()) continue;
    check_gradients(expected, produced, check.tolerance);
  }
}

/// Rows of the stage that run the problem.
std::vector<const Variant*> rows_for(Stage stage, const Problem& p, const Device& device) {
  std::vector<const Variant*> rows = cuda_backward_rows(stage);
  std::erase_if(rows, [&](const Variant* row) { return !supports(*row, p, device).supported; });
  return rows;
}

/// What the first row of fp32 makes of the same numbers.
std::vector<reference::Row> run_in_fp32(Stage stage, Problem p, BackwardInputs inputs,
                                        const Device& device, CUstream_st* stream) {
  for (HostTensor& tensor : inputs.tensors) {
    if (tensor.shape.dtype != p.dtype) continue;
    const std::int64_t count = tensor.view().elements();
    std::vector<double> numbers(static_cast<std::size_t>(count));
    load_row(tensor.view(), 0, count, numbers.data());
    tensor.shape.dtype = Dtype::fp32;
    tensor.make_room();
    store_row(tensor.view(), 0, count, numbers.data());
  }
  p.dtype = Dtype::fp32;
  const auto rows = rows_for(stage, p, device);
  REQUIRE(!rows.empty());
  std::vector<reference::Row> gradients;
  for (const HostTensor& gradient :
       launch_backward(*rows.front(), p, inputs, make_gradients(stage, p, p.dtype), stream)) {
    const std::int64_t count = gradient.view().elements();
    load_row(gradient.view(), 0, count,
             gradients.emplace_back(static_cast<std::size_t>(count)).data());
  }
  return gradients;
}

void check_every_row(Dtype dtype) {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  for (const Stage stage : kBackwardStages) {
    int checked = 0;
    for (const Problem& forward : problems(dtype)) {
      const Problem p = backward_of(forward);
      const auto rows = rows_for(stage, p, *device);
      if (rows.empty()) continue;
      const BackwardInputs inputs = make_backward_inputs(stage, p, 7);
      const auto expected = reference::run_stage_backward(stage, p, inputs.views());
      for (const Variant* row : rows) {
        for (const Dtype gradients : {dtype, Dtype::fp32}) {
          const double most = gradient_tolerance(dtype);
          check_row(*row, p, inputs, expected, {gradients, most}, stream.get());
          check_row(*row, p, inputs, expected, {gradients, most, {.row_gap = 3, .offset = 1}},
                    stream.get());
        }
        ++checked;
      }
    }
    INFO(to_string(stage));
    CHECK(checked > 0);
  }
}

}  // namespace

TEST_CASE("every backward row in bf16 on a GPU agrees with the reference on every shape",
          "[gpu][backward]") {
  check_every_row(Dtype::bf16);
}

TEST_CASE("every backward row in fp16 on a GPU agrees with the reference on every shape",
          "[gpu][backward]") {
  check_every_row(Dtype::fp16);
}

TEST_CASE("every backward row in fp32 on a GPU agrees with the reference on every shape",
          "[gpu][backward]") {
  check_every_row(Dtype::fp32);
}

TEST_CASE("gradients of groups of 1 to 16 heads are right on a GPU", "[gpu][backward]") {
  const auto device = gpu_or_skip();
  if (!device || sanitized()) return;
  const Stream stream;
  for (std::int64_t group = 1; group <= 16; ++group) {
    for (const std::int64_t dim : {64, 128}) {
      for (const Stage stage : {Stage::attend_selected, Stage::attend_window,
                                Stage::attend_compressed, Stage::gate_combine}) {
        const Problem p = backward_of(with_geometry(
            small_problem({77}, {40}, 2 * group, 2, dim, dim, Dtype::bf16), {32, 16, 64, 3, 50}));
        const BackwardInputs inputs = make_backward_inputs(stage, p, 5);
        const auto expected = reference::run_stage_backward(stage, p, inputs.views());
        for (const Variant* row : rows_for(stage, p, *device))
          check_row(*row, p, inputs, expected, {Dtype::bf16, gradient_tolerance(Dtype::bf16)},
                    stream.get());
      }
    }
  }
}

TEST_CASE("gradients of steep logits are right on a GPU", "[gpu][backward]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  // Logits 32 times as large round 32 times as coarsely, whatever computes them.
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
    for (const Stage stage :
         {Stage::attend_selected, Stage::attend_window, Stage::attend_compressed}) {
      const Problem p = backward_of(
          with_geometry(small_problem({150}, {0}, 12, 2, 64, 64, dtype), {32, 16, 64, 3, 70}));
      const BackwardInputs inputs = make_backward_inputs(stage, p, 7, {}, 32);
      const auto expected = reference::run_stage_backward(stage, p, inputs.views());
      for (const Variant* row : rows_for(stage, p, *device))
        check_row(*row, p, inputs, expected, {dtype, 32 * gradient_tolerance(dtype)}, stream.get());
    }
  }
}

TEST_CASE("a GPU adds a gradient to what is there where its bit says so, else overwrites it",
          "[gpu][backward]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp32}) {
    const Problem p = backward_of(
        with_geometry(small_problem({70}, {0}, 6, 2, 64, 64, dtype), {32, 16, 64, 3, 50}));
    for (const Stage stage : kBackwardStages) {
      const BackwardInputs inputs = make_backward_inputs(stage, p, 11);
      const auto expected = reference::run_stage_backward(stage, p, inputs.views());
      for (const Variant* row : rows_for(stage, p, *device)) {
        for (std::size_t bit = 0; bit < expected.size(); ++bit) {
          auto gradients = make_gradients(stage, p, dtype);
          auto right = expected;
          std::vector<double> before(right[bit].size());
          for (std::size_t i = 0; i < before.size(); ++i)
            right[bit][i] += before[i] = static_cast<double>(i % 17) - 8;
          store_row(gradients[bit].view(), 0, static_cast<std::int64_t>(before.size()),
                    before.data());
          const auto produced = launch_backward(*row, p, inputs, std::move(gradients), stream.get(),
                                                {.accumulate = 1u << bit});
          if (sanitized()) continue;
          INFO(to_string(ids_of(*row).front()) << " adds to output " << bit);
          check_gradients(right, produced, gradient_tolerance(dtype));
        }
      }
    }
  }
}

TEST_CASE("a deterministic backward row on a GPU gives the same bits from run to run",
          "[gpu][backward]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  for (const Stage stage : kBackwardStages) {
    const Problem p = backward_of(
        with_geometry(small_problem({sanitized() ? 100 : 500}, {0}, 12, 2, 64, 64, Dtype::bf16),
                      {32, 16, 64, 6, 200}));
    const BackwardInputs inputs = make_backward_inputs(stage, p, 5);
    for (const Variant* row : rows_for(stage, p, *device)) {
      if (!row->deterministic) continue;
      const auto run = [&] {
        return launch_backward(*row, p, inputs, make_gradients(stage, p, Dtype::fp32),
                               stream.get());
      };
      const auto first = run();
      for (int again = 0; again < 4; ++again) {
        INFO(to_string(ids_of(*row).front()));
        check_same_bits(first, run());
      }
    }
  }
}

TEST_CASE("blocks named twice, of the future, or not at all have no gradient of their own",
          "[gpu][backward]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp32}) {
    const Problem p = backward_of(
        with_geometry(small_problem({260}, {0}, 12, 2, 64, 64, dtype), {32, 16, 64, 5, 70}));
    BackwardInputs inputs = make_backward_inputs(Stage::attend_selected, p, 3);
    auto* blocks = inputs.tensors[3].view().as<std::int32_t>();
    for (std::int64_t row = 0; row < p.total_tokens() * p.kv_heads; ++row) {
      std::int32_t* ids = blocks + row * 5;
      const auto own = static_cast<std::int32_t>(row / p.kv_heads / 64);
      if (row % 5 == 0) std::fill_n(ids, 5, -1);                              // sees nothing
      if (row % 5 == 1) ids[0] = ids[4] = own, ids[1] = ids[2] = ids[3] = 0;  // named again
      if (row % 5 == 2) ids[0] = own + 1, ids[1] = 1000;                      // of the future
      if (row % 5 == 3) ids[0] = own, ids[1] = -1, ids[2] = 0, ids[3] = -1, ids[4] = -1;
    }
    follow_blocks(inputs, p, stream.get());
    const auto expected = reference::run_stage_backward(Stage::attend_selected, p, inputs.views());
    for (const Variant* row : rows_for(Stage::attend_selected, p, *device))
      check_row(*row, p, inputs, expected, {dtype, gradient_tolerance(dtype)}, stream.get());
  }
}

TEST_CASE("backward rows of 16 bits agree with those of fp32 on long sequences",
          "[gpu][backward]") {
  const auto device = gpu_or_skip();
  if (!device || sanitized()) return;
  const Stream stream;
  for (const std::int64_t dim : {64, 128}) {
    for (const Stage stage :
         {Stage::attend_selected, Stage::attend_window, Stage::attend_compressed}) {
      const Problem p = backward_of(
          with_geometry(small_problem({3000, 1777}, {0, 0}, 12, 2, dim, dim, Dtype::bf16),
                        {32, 16, 64, 16, 512}));
      const BackwardInputs inputs = inputs_by_device(stage, p, 9, stream.get());
      const auto expected = run_in_fp32(stage, p, inputs, *device, stream.get());
      for (const Variant* row : rows_for(stage, p, *device))
        check_row(*row, p, inputs, expected, {Dtype::fp32, gradient_tolerance(Dtype::bf16)},
                  stream.get());
    }
  }
}

TEST_CASE("gradients of much work, in wide items of keys, agree with those of fp32",
          "[gpu][backward]") {
  const auto device = gpu_or_skip();
  if (!device || sanitized()) return;
  const Stream stream;
  for (const std::int64_t group :
       {16, 12}) {  // that fills a tile of 64 rows, and one that does not
    for (const Stage stage : {Stage::attend_window, Stage::attend_compressed}) {
      const Problem p = backward_of(
          with_geometry(small_problem({6000, 1777}, {0, 0}, 6 * group, 6, 128, 128, Dtype::bf16),
                        {4, 2, 64, 16, 1500}));
      const Branch branch = stage == Stage::attend_window ? Branch::win : Branch::cmp;
      REQUIRE(cuda::band_plan(p, branch, true).tile_keys == cuda::kWideBandKeys);
      const BackwardInputs inputs = inputs_by_device(stage, p, 9, stream.get());
      const auto expected = run_in_fp32(stage, p, inputs, *device, stream.get());
      for (const Variant* row : rows_for(stage, p, *device))
        check_row(*row, p, inputs, expected, {Dtype::fp32, gradient_tolerance(Dtype::bf16)},
                  stream.get());
    }
  }
}
