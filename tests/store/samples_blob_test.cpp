#include "rows/samples_blob.hpp"

#include <limits>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"

using nsa::Sample;
using nsa::store::pack_samples;
using nsa::store::unpack_samples;

TEST_CASE("samples come back as they were packed, absent cycles included", "[store]") {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  const std::vector<Sample> with_cycles{
      {1, 2, 3, 4}, {-5, 0, kMax, std::nullopt}, {7, 8, 9, std::int64_t{0}}};
  const std::vector<Sample> without{{1, 2, 3, {}}, {4, 5, 6, {}}};
  REQUIRE(unpack_samples(pack_samples(with_cycles)) == with_cycles);
  REQUIRE(unpack_samples(pack_samples(without)) == without);
  REQUIRE(unpack_samples(pack_samples({})).empty());
}

TEST_CASE("the layout of the samples is the documented one, byte for byte", "[store]") {
  const std::vector<Sample> samples{{1, 258, 3, {}}, {-1, 4, 5, 6}};
  const std::vector<unsigned char> expected{
      1, 1, 0, 0, 2, 0, 0, 0,                                            // header
      1, 0, 0, 0, 0, 0, 0, 0,   255, 255, 255, 255, 255, 255, 255, 255,  // start_ns
      2, 1, 0, 0, 0, 0, 0, 0,   4,   0,   0,   0,   0,   0,   0,   0,    // device_ns
      3, 0, 0, 0, 0, 0, 0, 0,   5,   0,   0,   0,   0,   0,   0,   0,    // host_ns
      0, 0, 0, 0, 0, 0, 0, 128, 6,   0,   0,   0,   0,   0,   0,   0};   // cycles
  REQUIRE(pack_samples(samples) == expected);
  REQUIRE(pack_samples(std::vector<Sample>{{1, 2, 3, {}}}).size() == 8 + 3 * 8);
}

TEST_CASE("a blob that was cut, stretched or made by another version is refused", "[store]") {
  const auto good = pack_samples(std::vector<Sample>{{1, 2, 3, 4}, {5, 6, 7, 8}});
  for (std::size_t length = 0; length < good.size(); ++length) {
    INFO("cut to " << length);
    const std::vector<unsigned char> cut(good.begin(),
                                         good.begin() + static_cast<std::ptrdiff_t>(length));
    REQUIRE_THROWS_AS(unpack_samples(cut), nsa::InputError);
  }
  const auto changed = [&](std::size_t at, unsigned char value) {
    auto blob = good;
    blob[at] = value;
    return blob;
  };
  REQUIRE_THROWS_AS(unpack_samples(changed(0, 2)), nsa::InputError);    // layout
  REQUIRE_THROWS_AS(unpack_samples(changed(1, 0)), nsa::InputError);    // no cycles column
  REQUIRE_THROWS_AS(unpack_samples(changed(1, 3)), nsa::InputError);    // unknown flag
  REQUIRE_THROWS_AS(unpack_samples(changed(2, 1)), nsa::InputError);    // reserved byte
  REQUIRE_THROWS_AS(unpack_samples(changed(7, 255)), nsa::InputError);  // 4e9 samples
  auto longer = good;
  longer.push_back(0);
  REQUIRE_THROWS_AS(unpack_samples(longer), nsa::InputError);
}
