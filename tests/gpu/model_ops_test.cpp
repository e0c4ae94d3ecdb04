// The operations between the stages of a model on a device: norms, activation, embedding.
#include <cmath>
#include <cstring>

#include "cpu/convert.hpp"
#include "gpu_layer.hpp"
#include "nsa/kernels/oracle.hpp"
#include "runtime/ops.hpp"

using namespace nsa;
using namespace nsa::test;

TEST_CASE("the operations between stages are the CPU's, on every type and any alignment", "[gpu]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  const Stream stream;
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    for (const std::int64_t gap : {0, 3}) {
      Problem p = layer_problem(33, dtype);
      p.model.model_dim = gap == 0 ? 264 : 77;
      GpuLayer gpu_layer(*gpu, p, stream.get());
      Router::Inputs cpu_inputs;
      const Router cpu_router(std::move(cpu_inputs));
      Workspace cpu_workspace;
      Context cpu;
      cpu.router = &cpu_router;
      cpu.workspace = &cpu_workspace;
      const auto random = [&](std::uint64_t seed) { return make_inputs(Stage::layer, p, seed)[0]; };
      HostTensor x = random(1), delta = random(2), y = random(3);
      HostTensor weight{"w", {dtype, 1, {p.model.model_dim, 0, 0, 0}}, {}};
      weight.bytes.assign(delta.bytes.begin(),
                          delta.bytes.begin() + static_cast<std::ptrdiff_t>(weight.view().bytes()));
      const DeviceTensor gx(x, stream.get(), gap), gd(delta, stream.get(), gap),
          gy(y, stream.get(), gap), gw(weight, stream.get());
      const Context device = gpu_layer.context();
      INFO(to_string(dtype) << " gap " << gap);
      const auto check = [&](const HostTensor& want, const DeviceTensor& got) {
        const HostTensor there = got.download(stream.get());
        std::int64_t wrong = 0;
        for (std::int64_t r = 0; r < want.view().shape[0]; ++r) {
          std::vector<double> a(static_cast<std::size_t>(p.model.model_dim)), b(a);
          double error = 0, norm = 0;
          load_row(want.view(), want.view().at(r), p.model.model_dim, a.data());
          load_row(there.view(), there.view().at(r), p.model.model_dim, b.data());
          for (std::size_t i = 0; i < a.size(); ++i) {
            error += (a[i] - b[i]) * (a[i] - b[i]);
            norm += a[i] * a[i];
          }
          wrong += !(std::sqrt(error / norm) <= row_tolerance(Stage::layer, dtype));
        }
        CHECK(wrong == 0);
      };
      cpu_ops().rms_norm(cpu, x.view(), weight.view(), y.view());
      cuda_ops().rms_norm(device, gx.view(), gw.view(), gy.view());
      check(y, gy);
      cpu_ops().add_norm(cpu, x.view(), delta.view(), weight.view(), y.view());
      cuda_ops().add_norm(device, gx.view(), gd.view(), gw.view(), gy.view());
      check(x, gx);
      check(y, gy);
      cpu_ops().silu(cpu, delta.view());
      cuda_ops().silu(device, gd.view());
      check(delta, gd);
    }
  }
}

TEST_CASE("a token outside of the vocabulary is a row of NaN on a GPU", "[gpu]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  const Stream stream;
  const Problem p = layer_problem(4, Dtype::fp32);
  GpuLayer gpu_layer(*gpu, p, stream.get());
  const HostTensor table = make_inputs(Stage::layer, layer_problem(30, Dtype::fp32), 8).front();
  const HostTensor empty = make_inputs(Stage::layer, p, 9).front();
  HostTensor tokens{"tokens", {Dtype::int32, 1, {4, 0, 0, 0}}, {}};
  const std::array<std::int32_t, 4> ids{29, 30, 0, -1};
  tokens.bytes.resize(sizeof(ids));
  std::memcpy(tokens.bytes.data(), ids.data(), sizeof(ids));
  const DeviceTensor gt(tokens, stream.get()), gtable(table, stream.get()), gy(empty, stream.get());
  cuda_ops().embed(gpu_layer.context(), gt.view(), gtable.view(), gy.view());
  const HostTensor y = gy.download(stream.get());
  const std::int64_t dim = p.model.model_dim;
  const auto *rows = y.view().as<const float>(), *known = table.view().as<const float>();
  for (std::int64_t c = 0; c < dim; ++c) {
    CHECK(rows[c] == known[29 * dim + c]);
    CHECK(std::isnan(rows[dim + c]));
    CHECK(rows[2 * dim + c] == known[c]);
    CHECK(std::isnan(rows[3 * dim + c]));
  }
}
