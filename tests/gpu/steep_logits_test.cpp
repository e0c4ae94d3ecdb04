// Logits that leave the range of a weight from one tile of keys to the next: softmaxes that look
// for their largest logit in the first tile only have to see it.
#include <cmath>
#include <utility>
#include <vector>

#include "cpu/convert.hpp"
#include "gpu.hpp"
#include "nsa/kernels/oracle.hpp"

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

}  // namespace

TEST_CASE("logits so large that their products with the scale are rounded end in a result",
          "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  int rows = 0;
  for (const Variant& variant : catalog()) {
    const Stage stage = variant.stages.front();
    if (variant.backend != Backend::cuda || !variant.launch || variant.role == Role::slow_path ||
        (stage != Stage::attend_window && stage != Stage::attend_compressed &&
         stage != Stage::attend_selected))
      continue;
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
      Problem p = small_problem({40}, {1200}, 12, 2, 64, 64, dtype);
      p.geometry = Geometry{};
      if (!supports(variant, p, *device).supported) continue;
      INFO(to_string(stage) << "/" << variant.name << " " << describe(p));
      auto inputs = make_inputs(variant.stages, p, 7);
      for (HostTensor& tensor : inputs) {
        if (tensor.shape.dtype != dtype || tensor.name.starts_with('v')) continue;
        const TensorView view = tensor.view();
        std::vector<float> numbers(static_cast<std::size_t>(view.elements()));
        load_row(view, 0, view.elements(), numbers.data());
        // Logits of 2^28 in fp16, whose numbers end at 2^16, and of 2^33 in bf16.
        for (float& x : numbers) x *= dtype == Dtype::fp16 ? 15000.0f : 100000.0f;
        store_row(view, 0, view.elements(), numbers.data());
      }
      const auto in = upload(inputs, stream.get());
      const auto out = upload(make_outputs(variant.stages, p), stream.get());
      Launchable(variant, p, views(in), views(out), stream.get()).launch();
      CHECK_NOTHROW(device::synchronize(stream.get()));
      ++rows;
    }
  }
  CHECK(rows > 10);
}

TEST_CASE("logits that rise, fall or leap by hundreds from tile to tile are weighed right",
          "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  int rows = 0;
  for (const Variant& variant : catalog()) {
    const Stage stage = variant.stages.front();
    const bool branch = stage == Stage::attend_window || stage == Stage::attend_compressed ||
                        stage == Stage::attend_selected;
    if (variant.backend != Backend::cuda || variant.stages.size() != 1 || !branch ||
        !variant.launch || variant.role == Role::slow_path)
      continue;
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
      // Compressed keys are few; and the window is to slide, so that rows of a tile begin apart.
      const std::int64_t before = stage == Stage::attend_compressed ? 2000 : 700;
      for (Problem p : {small_problem({100}, {before}, 12, 2, 64, 64, dtype),
                        small_problem({130, 20}, {before, 7}, 2, 2, 128, 128, dtype),
                        small_problem({40}, {before + 100}, 16, 1, 192, 128, dtype)}) {
        p.geometry = Geometry{};
        if (!supports(variant, p, *device).supported) continue;
        // The smaller steps stay below the largest weights that are let pass, and add up to more.
        for (const auto& [step, zigzag] : {std::pair{120.0f, false},
                                           {-120.0f, false},
                                           {120.0f, true},
                                           {6.0f, false},
                                           {30.0f, false},
                                           {-30.0f, false}}) {
          INFO(to_string(stage) << "/" << variant.name << " " << describe(p) << " step " << step
                                << (zigzag ? " zigzag" : ""));
          auto inputs = make_inputs(stage, p, 7);
          make_steep(inputs, p, step, zigzag);
          const auto in = upload(inputs, stream.get());
          const auto out = upload(make_outputs(stage, p), stream.get());
          Launchable(variant, p, views(in), views(out), stream.get()).launch();
          std::vector<HostTensor> produced;
          for (const DeviceTensor& tensor : out) produced.push_back(tensor.download(stream.get()));
          if (sanitized()) continue;
          const auto input_views = views(inputs);
          const SpanOracle oracle(variant.stages, p, input_views, {}, variant.role);
          const auto verdict = oracle.verify(views(produced));
          CHECK(verdict.worst_row_error <= row_tolerance(variant.stages, p.dtype, variant.name));
          CHECK(verdict.poison_left == 0);
          CHECK(verdict.non_finite == 0);
          ++rows;
        }
      }
    }
  }
  CHECK((rows > 50 || sanitized()));
}
