// Products by cuBLASLt write every element. Its kernels for bf16 and fp16 store through the bulk
// TMA, which compute-sanitizer's initcheck does not see: it reports whatever reads their
// output as uninitialised. This test says what initcheck cannot; run_on_device.sh leaves the one
// kernel that reads such output out of initcheck for that reason.
#include "cuda/gemm/gemm.hpp"

#include <cmath>

#include "cpu/convert.hpp"
#include "gpu.hpp"

using namespace nsa;
using namespace nsa::test;

TEST_CASE("a product leaves nothing of a NaN-filled output, and what it writes is right", "[gpu]") {
  if (!gpu_or_skip()) return;
  if (!cuda::gemm_missing().empty()) {
    WARN("skipped: " << cuda::gemm_missing());
    return;
  }
  const Stream stream;
  Workspace workspace(device::allocator());
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16, Dtype::fp32}) {
    for (const std::int64_t tokens : {1, 33, 130}) {
      Problem p = small_problem({tokens}, {0}, 6, 2, 32, 32, dtype);
      const auto inputs = make_inputs(Stage::project_rope, p, 3);  // x and w_qkv
      const auto in = upload(inputs, stream.get());
      const std::int64_t columns = in[1].view().shape[0], depth = in[1].view().shape[1];
      HostTensor out{"product", {Dtype::fp32, 2, {tokens, columns, 0, 0}}, {}};
      out.bytes.assign(static_cast<std::size_t>(tokens * columns) * 4, std::byte{0xFF});
      const DeviceTensor product(out, stream.get());
      workspace.reset();
      cuda::gemm(in[0].view(), in[1].view(), product.view(), workspace, stream.get());
      const HostTensor there = product.download(stream.get());
      const auto* y = there.view().as<const float>();
      std::vector<double> x(static_cast<std::size_t>(depth)), w(x);
      double worst = 0;
      for (std::int64_t t = 0; t < tokens; ++t) {
        load_row(inputs[0].view(), inputs[0].view().at(t), depth, x.data());
        for (std::int64_t c = 0; c < columns; ++c) {
          load_row(inputs[1].view(), inputs[1].view().at(c), depth, w.data());
          double sum = 0;
          for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * w[i];
          const double error = std::abs(sum - static_cast<double>(y[t * columns + c]));
          if (!(error <= worst)) worst = error;  // NaN stays
        }
      }
      INFO(to_string(dtype) << " " << tokens << " tokens, " << columns << " columns");
      CHECK(worst < 1e-3);
    }
  }
}
