// bf16 and fp16 as bits: every value of 16 bits, every kind of rounding.
#include <cmath>
#include <cstring>
#include <limits>

#include "catch.hpp"
#include "cpu/convert.hpp"
#include "cpu/half.hpp"

namespace nsa::test {

TEST_CASE("every bf16 and fp16 number survives the way to fp32 and back", "[kernels][cpu]") {
  std::int64_t changed = 0;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float b = bf16_to_float(bits), h = fp16_to_float(bits);
    if (std::isnan(b) ? !std::isnan(bf16_to_float(float_to_bf16(b))) : float_to_bf16(b) != bits) {
      ++changed;
    }
    if (std::isnan(h) ? !std::isnan(fp16_to_float(float_to_fp16(h))) : float_to_fp16(h) != bits) {
      ++changed;
    }
  }
  CHECK(changed == 0);
}

TEST_CASE("rounding to 16 bits goes to the nearest and at a tie to the even one",
          "[kernels][cpu]") {
  std::int64_t wrong = 0;
  const auto check = [&](auto widen, auto narrow, std::uint16_t bits, std::uint16_t above) {
    const float low = widen(bits), high = widen(above);
    const float middle = low + (high - low) / 2;
    const std::uint16_t even = (bits & 1) == 0 ? bits : above;
    wrong += narrow(middle) != even;
    wrong += narrow(std::nextafter(middle, low)) != bits;
    wrong += narrow(std::nextafter(middle, high)) != above;
  };
  for (std::uint32_t i = 0; i + 1 < 0x7c00; ++i) {
    const auto bits = static_cast<std::uint16_t>(i), above = static_cast<std::uint16_t>(i + 1);
    check(fp16_to_float, float_to_fp16, bits, above);
    if (i > 0x80) check(bf16_to_float, float_to_bf16, bits, above);
  }
  CHECK(wrong == 0);
  CHECK(fp16_to_float(0x0001) == std::ldexp(1.0f, -24));
  CHECK(fp16_to_float(0x7bff) == 65504.0f);
  CHECK(float_to_fp16(65519.9f) == 0x7bff);
  CHECK(float_to_fp16(65520.0f) == 0x7c00);
  CHECK(bf16_to_float(0x3fc0) == 1.5f);
}

TEST_CASE("a double is rounded to 16 bits once, not by way of fp32", "[kernels][cpu]") {
  // 1 + 2^-8 is a tie of bf16; a hair above it must go up, but rounds to the tie in fp32 first.
  const double hair = 1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40);
  std::uint16_t out[2] = {};
  const double values[2] = {hair, -hair};
  store_row(make_view(out, Dtype::bf16, {2}), 0, 2, values);
  CHECK(out[0] == 0x3f81);
  CHECK(out[1] == 0xbf81);
  const double half_hair = 1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  store_row(make_view(out, Dtype::fp16, {2}), 1, 1, &half_hair);
  CHECK(out[1] == 0x3c01);
}

TEST_CASE("rows of integers are refused", "[kernels][cpu]") {
  std::int32_t data[2] = {1, 2};
  float out[2];
  CHECK_THROWS_AS(load_row(make_view(data, Dtype::int32, {2}), 0, 2, out), ContractError);
}

}  // namespace nsa::test
