// Every CUDA row of the table against the CPU's oracle, row by row.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "gpu.hpp"
#include "nsa/kernels/vendor.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

/// Few, and yet a problem for every kernel of every row.
std::vector<Problem> problems_for_sanitizers(Dtype dtype) {
  std::vector<Problem> all{
      small_problem({5, 40}, {130, 3}, 6, 2, 20, 33, dtype),  // chunked, ragged, fills no vector
      small_problem({130}, {0}, 12, 2, 64, 64, dtype),
      small_problem({1}, {300}, 12, 2, 64, 64, dtype),
      small_problem({70}, {0}, 16, 1, 192, 128, dtype),
  };
  for (auto problem = all.begin() + 1; problem != all.end(); ++problem)
    problem->geometry = Geometry{};  // the default
  return all;
}

std::vector<Problem> problems(Dtype dtype) {
  if (sanitized()) return problems_for_sanitizers(dtype);
  std::vector<Problem> all{
      small_problem({70}, {0}, 12, 2, 64, 64, dtype),    // heads of the 125M model
      small_problem({130}, {0}, 4, 4, 16, 48, dtype),    // one head per group
      small_problem({67}, {0}, 16, 1, 192, 128, dtype),  // the paper's dims, 16 per group
      small_problem({90}, {0}, 8, 2, 128, 128, dtype),   // dims that vendors are compiled for
      small_problem({33}, {0}, 10, 2, 256, 256, dtype),  // the largest dims
      small_problem({65}, {0}, 6, 2, 20, 33, dtype),     // dims that fill no vector
      small_problem({1, 37, 129, 64}, {0, 0, 0, 0}, 6, 2, 32, 96, dtype),   // ragged
      small_problem({5, 40}, {130, 3}, 8, 2, 64, 64, dtype),                // chunked, ragged
      small_problem({1, 1, 1, 1}, {0, 99, 500, 15}, 12, 2, 64, 64, dtype),  // decode
      small_problem({1}, {0}, 12, 2, 64, 64, dtype),                        // one token
      small_problem({1, 1}, {700, 64}, 16, 1, 192, 128, dtype),             // decode, paper's dims
      small_problem({1}, {301}, 6, 2, 20, 33, dtype),                       // that fill no vector
  };
  Problem many = small_problem({1}, {0}, 12, 2, 64, 64, dtype);  // decode of a large batch
  many.seq_lens.assign(40, 1);
  many.context_lens.clear();
  for (std::int64_t b = 0; b < 40; ++b) many.context_lens.push_back(9 * b);
  many.phase = Phase::decode;
  all.push_back(many);
  Problem far = small_problem({1}, {3000}, 12, 2, 64, 64, dtype);  // the default geometry
  far.geometry = Geometry{};
  all.push_back(far);
  Problem wide = small_problem({300}, {0}, 12, 2, 64, 64, dtype);  // the default geometry
  wide.geometry = Geometry{};
  all.push_back(wide);
  Problem smooth = small_problem({200}, {0}, 4, 2, 64, 64, dtype);
  smooth.geometry = {8, 4, 8, 40, 16};  // more blocks than a warp has lanes
  smooth.selection.pattern = SelectionPattern::smooth;
  all.push_back(smooth);
  return all;
}

void check_row(const Variant& variant, const VariantId& id, const Problem& problem,
               CUstream_st* stream, std::int64_t row_gap, std::int64_t offset) {
  INFO(to_string(id) << " " << describe(problem) << " gap " << row_gap << " offset " << offset);
  REQUIRE_FALSE(find_violation(problem));
  const auto inputs = make_inputs(variant.stages, problem, 7);
  check_launch(variant, problem, inputs, stream, id.point, row_gap, offset);
}

/// One row, at each point of its coordinates, on every problem that it supports; what it refuses,
/// it refuses with a reason, and no row refuses all of a type that it claims to store.
void check_problems(const Variant& variant, Dtype dtype, const Device& device,
                    CUstream_st* stream) {
  int run = 0;
  for (const Problem& problem : problems(dtype)) {
    const Support support = supports(variant, problem, device);
    INFO(variant.name << " " << describe(problem) << ": " << support.reason());
    CHECK(support.supported == support.reason().empty());
    if (!support.supported) continue;
    for (const VariantId& id : ids_of(variant)) check_row(variant, id, problem, stream, 0, 0);
    ++run;
    // They launch a kernel, or all of them, for each row.
    if (sanitized() && (variant.role == Role::slow_path || variant.name == "sequential")) break;
  }
  INFO(to_string(variant.stages.front()) << "/" << variant.name << " " << to_string(dtype));
  CHECK(run > 0);
}

/// Rows of these stages.
void check_rows(std::initializer_list<Stage> stages, Dtype dtype) {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  int rows = 0;
  for (const Variant& variant : catalog()) {
    if (variant.backend != Backend::cuda || variant.direction != Direction::forward) continue;
    if (std::ranges::count(stages, variant.stages.front()) == 0) continue;
    // Vendors' rows may be left out of a build; what is left out says how to get it.
    CHECK((variant.launch || why_not_built(variant).find("install_deps") != std::string::npos));
    if (!variant.launch) continue;
    if (!(variant.dtypes & dtype_bit(dtype))) continue;
    check_problems(variant, dtype, *device, stream.get());
    ++rows;
  }
  CHECK(rows > 0);
}

struct Fp32 {
  static constexpr Dtype kDtype = Dtype::fp32;
};
struct Bf16 {
  static constexpr Dtype kDtype = Dtype::bf16;
};
struct Fp16 {
  static constexpr Dtype kDtype = Dtype::fp16;
};

}  // namespace

// In parts, so that a sanitizer, which is a hundred times slower, can take them side by side.
TEMPLATE_TEST_CASE("CUDA rows of attend_selected give the oracle's answer in every row", "[gpu]",
                   Fp32, Bf16, Fp16) {
  check_rows({Stage::attend_selected}, TestType::kDtype);
}

TEMPLATE_TEST_CASE("CUDA rows of the other branches give the oracle's answer in every row", "[gpu]",
                   Fp32, Bf16, Fp16) {
  check_rows({Stage::attend_compressed, Stage::attend_window}, TestType::kDtype);
}

TEMPLATE_TEST_CASE("CUDA rows around the branches give the oracle's answer in every row", "[gpu]",
                   Fp32, Bf16, Fp16) {
  check_rows({Stage::project_rope, Stage::compress, Stage::score, Stage::ranges,
              Stage::gate_combine, Stage::out_proj},
             TestType::kDtype);
}

TEMPLATE_TEST_CASE("CUDA rows of attention give the oracle's answer in every row", "[gpu]", Fp32,
                   Bf16, Fp16) {
  check_rows({Stage::attention}, TestType::kDtype);
}

TEMPLATE_TEST_CASE("CUDA rows of a layer give the oracle's answer in every row", "[gpu]", Fp32,
                   Bf16, Fp16) {
  check_rows({Stage::layer}, TestType::kDtype);
}

TEMPLATE_TEST_CASE("CUDA rows of a model give the oracle's answer in every row", "[gpu]", Fp32,
                   Bf16, Fp16) {
  check_rows({Stage::model}, TestType::kDtype);
}

TEST_CASE("every CUDA row reads and writes by the caller's strides, aligned or not", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  // A model's weights are one flat tensor, which has no strides.
  const auto has_strides = [](const Variant& v) { return v.stages.front() != Stage::model; };
  for (const Variant* row : cuda_rows(has_strides)) {
    const Variant& variant = *row;
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
      if (!(variant.dtypes & dtype_bit(dtype))) continue;
      const bool layer = variant.stages.front() == Stage::layer;
      const Problem problem = small_problem({40, 9}, {0, layer ? 0 : 20}, 6, 2, 32, 64, dtype);
      if (!supports(variant, problem, *device).supported) continue;
      for (const VariantId& id : ids_of(variant)) {
        check_row(variant, id, problem, stream.get(), 16, 0);  // gaps that keep the alignment
        check_row(variant, id, problem, stream.get(), 6, 2);   // and that do not
      }
    }
  }
}

TEST_CASE("a CUDA row writes the same bits every time", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  const Problem problem = small_problem({90}, {0}, 12, 2, 64, 64, Dtype::bf16);
  for (const Variant* row : cuda_rows([](const Variant&) { return true; })) {
    const Variant& variant = *row;
    INFO(variant.name);
    if (!supports(variant, problem, *device).supported) continue;
    const auto inputs = make_inputs(variant.stages, problem, 3);
    HostBytes first;
    for (int run = 0; run < 3; ++run) {
      const auto bytes = produce(variant, problem, inputs, stream.get()).front().bytes;
      if (run == 0) first = bytes;
      CHECK(bytes == first);
    }
  }
}

TEST_CASE("threads may launch one row for shapes that need different shared memory", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Variant& masked = cuda_row(Stage::attend_selected, "masked");
  std::vector<std::string> errors(2);
  const auto launch_often = [&](std::int64_t dim, std::string& error) {
    try {
      const Stream stream;
      const Problem problem = small_problem({64}, {0}, 4, 2, dim, dim, Dtype::fp32);
      const auto in = upload(make_inputs(masked.stages, problem, 3), stream.get());
      const auto out = upload(make_outputs(masked.stages, problem), stream.get());
      Launchable launchable(masked, problem, views(in), views(out), stream.get());
      for (int i = 0; i < 500; ++i) launchable.launch();
      device::synchronize(stream.get());
    } catch (const std::exception& e) {
      error = e.what();
    }
  };
  std::thread small([&] { launch_often(64, errors[0]); });
  std::thread large([&] { launch_often(256, errors[1]); });
  small.join();
  large.join();
  CHECK(errors == std::vector<std::string>(2));
}
