// The SIMD core on every instruction set that this machine runs, not only on the best.
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "cpu/half.hpp"
#include "cpu/simd/generate_rows.hpp"
#include "cpu/simd/half_rows.hpp"
#include "cpu/simd/softmax.hpp"
#include "cpu/simd/tile_gemm.hpp"
#include "cpu/simd/transpose.hpp"
#include "nsa/schemas/generator.hpp"

namespace nsa::test {
namespace {

/// Makes the dispatch choose one instruction set; back to all of them at the end.
class OnlyTarget {
 public:
  explicit OnlyTarget(std::int64_t target) { set(target); }
  ~OnlyTarget() { set(0); }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;

 private:
  static void set(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

template <class F>
void on_every_target(F&& f) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const OnlyTarget only(target);
    INFO(hwy::TargetName(target));
    f();
  }
}

template <class T>
std::vector<T> numbers(std::int64_t n, int seed) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(std::sin(0.7 * static_cast<double>(i) + seed));
  }
  return values;
}

template <class T>
double worst_product(std::int64_t rows, std::int64_t cols, std::int64_t depth, bool accumulate) {
  const auto a = numbers<T>(rows * depth, 1), b = numbers<T>(depth * cols, 2);
  auto c = numbers<T>(rows * (cols + 5), 3);
  const auto before = c;
  cpu::tile_gemm({.rows = rows, .cols = cols, .depth = depth}, {a.data(), depth}, {b.data(), cols},
                 {c.data(), cols + 5}, accumulate ? cpu::Store::add : cpu::Store::overwrite);
  double worst = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols + 5; ++j) {
      const auto at = static_cast<std::size_t>(i * (cols + 5) + j);
      double expected = accumulate || j >= cols ? static_cast<double>(before[at]) : 0;
      for (std::int64_t k = 0; j < cols && k < depth; ++k) {
        expected += static_cast<double>(a[static_cast<std::size_t>(i * depth + k)]) *
                    static_cast<double>(b[static_cast<std::size_t>(k * cols + j)]);
      }
      worst = std::max(worst, std::abs(static_cast<double>(c[at]) - expected));
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("the tile product is right for every number of rows on every instruction set",
          "[kernels][cpu]") {
  on_every_target([] {
    for (std::int64_t rows = 1; rows <= 14; ++rows) {
      for (const std::int64_t cols : {16, 48, 64, 112}) {
        CHECK(worst_product<float>(rows, cols, 33, rows % 2 == 0) < 1e-5);
        CHECK(worst_product<double>(rows, cols, 33, rows % 2 == 0) < 1e-13);
      }
    }
    CHECK(worst_product<float>(200, 16, 1, false) < 1e-6);
    CHECK(worst_product<float>(3, 32, 0, false) == 0);
  });
}

TEST_CASE("softmax is exact to the last digits on every instruction set", "[kernels][cpu]") {
  const auto check = [](auto zero, double tolerance) {
    using T = decltype(zero);
    auto x = numbers<T>(64, 4);
    for (T& value : x) value *= 30;
    x[7] = -std::numeric_limits<T>::infinity();
    const auto scores = x;
    const auto sums = cpu::softmax_row(x.data(), 64);
    double worst = 0, sum = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const double expected = std::exp2(static_cast<double>(scores[i] - sums.max));
      sum += expected;
      worst = std::max(worst,
                       std::abs(static_cast<double>(x[i]) - expected) / std::max(expected, 1e-30));
    }
    CHECK(worst < tolerance);
    CHECK(static_cast<double>(sums.sum) == Approx(sum).epsilon(tolerance));
    CHECK(x[7] == 0);
    std::fill(x.begin(), x.end(), -std::numeric_limits<T>::infinity());
    CHECK(cpu::softmax_row(x.data(), 64).sum == 0);
    CHECK(x[0] == 0);
    x[33] = std::numeric_limits<T>::quiet_NaN();
    CHECK(std::isnan(cpu::softmax_row(x.data(), 64).sum));
  };
  on_every_target([&] {
    check(float{}, 3e-7);
    check(double{}, 1e-15);
  });
}

TEST_CASE("an online softmax over masked panels equals the softmax over the allowed keys",
          "[kernels][cpu]") {
  const auto check = [](auto zero, double tolerance) {
    using T = decltype(zero);
    const auto scores = numbers<T>(3 * 64, 6);
    const std::uint64_t masks[] = {0x00000000ffff0001, 0, ~std::uint64_t{0}};
    T max = -std::numeric_limits<T>::infinity(), sum = 0;
    std::vector<T> out(16, 0);
    for (std::size_t panel = 0; panel < 3; ++panel) {
      std::vector<T> work(scores.begin() + static_cast<std::ptrdiff_t>(panel * 64),
                          scores.begin() + static_cast<std::ptrdiff_t>(panel * 64 + 64));
      for (T& value : work) value *= static_cast<T>(panel + 1);
      const cpu::OnlineRows<T> state{1, &max, &sum, out.data(), 16, 16};
      cpu::online_softmax(state, work.data(), 64, 64, &masks[panel], 0);
      for (const T p : work) out[3] += p;  // values of 1: out becomes the sum
    }
    double expected = 0;
    for (std::size_t i = 0; i < 192; ++i) {
      if ((masks[i / 64] >> (i % 64) & 1) == 0) continue;
      expected += std::exp2(static_cast<double>(scores[i]) * static_cast<double>(i / 64 + 1) -
                            static_cast<double>(max));
    }
    CHECK(static_cast<double>(sum) == Approx(expected).epsilon(tolerance));
    CHECK(static_cast<double>(out[3]) == Approx(expected).epsilon(tolerance));
  };
  on_every_target([&] {
    check(float{}, 1e-6);
    check(double{}, 1e-14);
  });
}

TEST_CASE("transposed blocks are padded with zeros, and one NaN is found anywhere",
          "[kernels][cpu]") {
  on_every_target([] {
    for (const std::int64_t keys : {1, 15, 16, 37}) {
      const auto in = numbers<float>(keys * 9, 8);
      std::vector<float> out(static_cast<std::size_t>(7 * 48), 99.0f);
      cpu::transpose_rows(in.data(), 9, keys, 7, out.data(), 48);
      std::int64_t wrong = 0;
      for (std::int64_t d = 0; d < 7; ++d) {
        for (std::int64_t key = 0; key < cpu::pad_up(keys); ++key) {
          const float expected = key < keys ? in[static_cast<std::size_t>(key * 9 + d)] : 0.0f;
          wrong += out[static_cast<std::size_t>(d * 48 + key)] != expected;
        }
      }
      CHECK(wrong == 0);
      for (std::int64_t i = 0; i < keys; ++i) {
        auto x = in;
        CHECK(cpu::all_finite(x.data(), keys));
        x[static_cast<std::size_t>(i)] = i % 2 == 0 ? NAN : -INFINITY;
        CHECK_FALSE(cpu::all_finite(x.data(), keys));
      }
    }
  });
}

TEST_CASE("vectorised rounding gives the same bits as the numbers one by one", "[kernels][cpu]") {
  std::vector<std::uint16_t> bits(65536);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  std::vector<float> values;
  for (std::uint32_t i = 0; i < 200000; ++i)
    values.push_back(std::bit_cast<float>(i * 2654435761u));
  for (std::uint32_t i = 0; i < 65535; ++i) {  // ties of both types, and their neighbours
    const float tie = std::bit_cast<float>((i << 16) | 0x8000u);
    const float half_tie = std::bit_cast<float>((i << 13) | 0x38001000u);
    values.insert(values.end(), {tie, std::nextafter(tie, 0.0f), half_tie,
                                 std::nextafter(half_tie, 0.0f), -half_tie});
  }
  const auto n = static_cast<std::int64_t>(values.size());
  on_every_target([&] {
    std::vector<float> wide(bits.size());
    std::vector<std::uint16_t> narrow(values.size());
    std::int64_t wrong = 0;
    const auto same = [](float a, float b) {
      return std::isnan(a) ? std::isnan(b)
                           : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
    };
    cpu::widen_bf16(bits.data(), 65535, wide.data());
    for (std::size_t i = 0; i < 65535; ++i) wrong += !same(wide[i], bf16_to_float(bits[i]));
    cpu::widen_fp16(bits.data(), 65535, wide.data());
    for (std::size_t i = 0; i < 65535; ++i) wrong += !same(wide[i], fp16_to_float(bits[i]));
    cpu::narrow_to_bf16(values.data(), n, narrow.data());
    for (std::size_t i = 0; i < values.size(); ++i) wrong += narrow[i] != float_to_bf16(values[i]);
    cpu::narrow_to_fp16(values.data(), n, narrow.data());
    for (std::size_t i = 0; i < values.size(); ++i) wrong += narrow[i] != float_to_fp16(values[i]);
    CHECK(wrong == 0);
  });
}

TEST_CASE("fp64 passes through fp32 to 16 bits as if it were rounded once", "[kernels][cpu]") {
  std::vector<double> values{0.0, -0.0, INFINITY, -INFINITY, NAN, 0x1.fffffffp127, 0x1p128, 1e300};
  for (std::uint64_t i = 0; i < 100000; ++i)
    values.push_back(std::bit_cast<double>(i * 0x9e3779b97f4a7c15u));
  for (std::uint32_t i = 0; i < 65535; ++i) {  // ties of both types, moved by less than fp32 sees
    for (const float tie : {std::bit_cast<float>((i << 16) | 0x8000u),
                            std::bit_cast<float>((i << 13) | 0x38001000u)}) {
      const double exact = tie;
      values.insert(values.end(),
                    {exact, std::nextafter(exact, 0.0), std::nextafter(exact, 1e300)});
    }
  }
  const auto n = static_cast<std::int64_t>(values.size());
  std::vector<float> odd(values.size());
  on_every_target([&] {
    cpu::round_to_odd(values.data(), n, odd.data());
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      wrong += float_to_bf16(odd[i]) != float_to_bf16(round_to_odd(values[i]));
      wrong += float_to_fp16(odd[i]) != float_to_fp16(round_to_odd(values[i]));
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("vectorised generation gives the same numbers as the counter one by one",
          "[kernels][cpu]") {
  constexpr std::int64_t kCount = 1000 + 7;
  on_every_target([&] {
    std::int64_t wrong = 0;
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{4294967000}}) {
      for (const double scale : {kUnitVarianceScale, kUnitVarianceScale / std::sqrt(768.0)}) {
        std::vector<double> row(kCount);
        cpu::generate_row(first, kCount, 4242, scale, row.data());
        for (std::size_t i = 0; i < row.size(); ++i)
          wrong += row[i] != generate(first + i, 4242, scale);
      }
    }
    CHECK(wrong == 0);
  });
}

}  // namespace nsa::test
