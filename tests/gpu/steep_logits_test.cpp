// Logits that leave the range of a weight from one tile of keys to the next: softmaxes that look
// for their largest logit in the first tile only have to see it. And queries so large that few keys
// have any weight, in every stage that reads them.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cpu/convert.hpp"
#include "gpu.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

/// Makes the logits of 48 neighbouring keys about `step` more than those of the 48 before, or those
/// of three such runs a zigzag.
void make_steep(std::vector<HostTensor>& inputs, const Problem& p, float step, bool zigzag) {
  const TensorView q = inputs[0].view(), k = inputs[1].view();
  const auto write = [](const TensorView& view, std::int64_t row, std::int64_t head, float value) {
    store_row(view, row * view.stride[0] + head * view.stride[1], 1, &value);
  };
  const float root = std::sqrt(static_cast<float>(p.head_dim_k));
  for (std::int64_t t = 0; t < q.shape[0]; ++t)
    for (std::int64_t h = 0; h < q.shape[1]; ++h) write(q, t, h, root);
  for (std::int64_t t = 0; t < k.shape[0]; ++t) {
    const std::int64_t place = zigzag ? t / 48 % 3 : t / 48;
    for (std::int64_t h = 0; h < k.shape[1]; ++h) write(k, t, h, step * static_cast<float>(place));
  }
}

/// Calls f(variant, problem) for the rows of a branch that are no slow path, in 16 bits, on those
/// of problems_of(stage, dtype) that they support.
template <class Problems, class F>
int for_branch_rows(const Device& device, Problems problems_of, F f) {
  int runs = 0;
  const auto of_branch = [](const Variant& row) {
    const Stage stage = row.stages.front();
    return row.role != Role::slow_path &&
           (stage == Stage::attend_window || stage == Stage::attend_compressed ||
            stage == Stage::attend_selected);
  };
  for (const Variant* row : cuda_rows(of_branch)) {
    const Variant& variant = *row;
    const Stage stage = variant.stages.front();
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
      for (Problem p : problems_of(stage, dtype)) {
        p.geometry = Geometry{};
        if (!supports(variant, p, device).supported) continue;
        INFO(to_string(stage) << "/" << variant.name << " " << describe(p));
        f(variant, p);
        ++runs;
      }
    }
  }
  return runs;
}

/// A tensor's numbers times `factor`, rounded.
void scale(const HostTensor& tensor, float factor) {
  const TensorView view = tensor.view();
  std::vector<float> numbers(static_cast<std::size_t>(view.elements()));
  load_row(view, 0, view.elements(), numbers.data());
  for (float& x : numbers) x *= factor;
  store_row(view, 0, view.elements(), numbers.data());
}

/// Queries and keys so large that logits are 2^28 in fp16, whose numbers end at 2^16, and 2^33 in
/// bf16.
void make_huge(std::vector<HostTensor>& inputs, Dtype dtype) {
  for (HostTensor& tensor : inputs) {
    if (tensor.shape.dtype != dtype || tensor.name.starts_with('v')) continue;
    scale(tensor, dtype == Dtype::fp16 ? 15000.0f : 100000.0f);
  }
}

/// Decode steps, a prefill, and a chunk so far behind that its compressed keys fill several tiles;
/// their rows choose two blocks besides the forced ones. The steps stand at one position: a
/// vendor's plan is for one shape.
std::vector<Problem> chosen_problems(Dtype dtype) {
  std::vector<Problem> all{small_problem({1, 1, 1}, {700, 700, 700}, 12, 2, 64, 64, dtype)};
  if (!sanitized()) {
    all.push_back(small_problem({400}, {0}, 12, 2, 64, 64, dtype));
    all.push_back(small_problem({60}, {4500}, 12, 2, 64, 64, dtype));
  }
  for (Problem& p : all) p.geometry = {32, 16, 64, 5, 100};
  return all;
}

}  // namespace

TEST_CASE("logits so large that their products with the scale are rounded end in a result",
          "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  const auto problems = [](Stage, Dtype dtype) {
    return std::vector{small_problem({40}, {1200}, 12, 2, 64, 64, dtype)};
  };
  const int runs =
      for_branch_rows(*device, problems, [&](const Variant& variant, const Problem& p) {
        auto inputs = make_inputs(variant.stages, p, 7);
        make_huge(inputs, p.dtype);
        CHECK_NOTHROW(produce(variant, p, inputs, stream.get()));
      });
  CHECK(runs > 10);
}

TEST_CASE("logits that rise, fall or leap by hundreds from tile to tile are weighed right",
          "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  const auto problems = [](Stage stage, Dtype dtype) {
    // Compressed keys are few; and the window is to slide, so that rows of a tile begin apart.
    const std::int64_t before = stage == Stage::attend_compressed ? 2000 : 700;
    return std::vector{small_problem({100}, {before}, 12, 2, 64, 64, dtype),
                       small_problem({130, 20}, {before, 7}, 2, 2, 128, 128, dtype),
                       small_problem({40}, {before + 100}, 16, 1, 192, 128, dtype)};
  };
  int checked = 0;
  for_branch_rows(*device, problems, [&](const Variant& variant, const Problem& p) {
    if (variant.stages.size() != 1) return;  // these pick blocks by scores, which tie
    // The smaller steps stay below the largest weights that are let pass, and add up to more.
    for (const auto& [step, zigzag] : {std::pair{120.0f, false},
                                       {-120.0f, false},
                                       {120.0f, true},
                                       {6.0f, false},
                                       {30.0f, false},
                                       {-30.0f, false}}) {
      INFO("step " << step << (zigzag ? " zigzag" : ""));
      auto inputs = make_inputs(variant.stages, p, 7);
      make_steep(inputs, p, step, zigzag);
      check_launch(variant, p, inputs, stream.get());
      ++checked;
    }
  });
  CHECK(checked > 50);
}

TEST_CASE("queries 32 times as large are scored, weighed and gated right by every CUDA row",
          "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    int checked = 0;
    // Its weights are zero below 3e-8, so that the blocks which have less tie.
    const auto wanted = [](const Variant& row) { return row.name != "p_cmp_fp16"; };
    for (const Variant* row : cuda_rows(wanted)) {
      const Variant& variant = *row;
      for (const Problem& p : chosen_problems(dtype)) {
        if (!supports(variant, p, *device).supported) continue;
        auto inputs = make_inputs(variant.stages, p, 7);
        const auto q = std::ranges::find(inputs, "q", &HostTensor::name);
        if (q == inputs.end()) continue;
        INFO(to_string(variant.stages.front()) << "/" << variant.name << " " << describe(p));
        scale(*q, 32);  // exact in every type
        check_launch(variant, p, inputs, stream.get());
        ++checked;
      }
    }
    INFO(to_string(dtype));
    CHECK(checked > 15);
  }
}
