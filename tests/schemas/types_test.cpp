#include "nsa/schemas/types.hpp"

#include "catch.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/run.hpp"
#include "nsa/schemas/training/directions.hpp"

namespace nsa {
namespace {

template <class Enum>
void check_names(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    CAPTURE(i, to_string(value));
    CHECK(from_string<Enum>(to_string(value)) == value);
  }
  CHECK(to_string(static_cast<Enum>(count)) == "invalid");
  CHECK_FALSE(from_string<Enum>("invalid"));
  CHECK_FALSE(from_string<Enum>(""));
}

TEST_CASE("every enumerator has a name that leads back to it, and no other has", "[schemas]") {
  check_names<Dtype>(5);
  check_names<Direction>(kDirectionCount);
  check_names<Phase>(3);
  check_names<Backend>(2);
  check_names<Stage>(kStageCount);
  check_names<SelectionPattern>(3);
  check_names<LaunchMode>(2);
  check_names<Timer>(3);
  check_names<Outcome>(8);
  check_names<Verification>(3);
  check_names<Axis>(4);
  check_names<BatchBin>(4);
  check_names<OverlapBin>(3);
  check_names<RunState>(3);
}

TEST_CASE("names stand at their enumerators", "[schemas]") {
  CHECK(to_string(Dtype::bf16) == "bf16");
  CHECK(to_string(Stage::attend_selected) == "attend_selected");
  CHECK(to_string(Stage::model) == "model");
  CHECK(to_string(Outcome::out_of_memory) == "out_of_memory");
  CHECK(to_string(Axis::compressed_len) == "compressed_len");
  CHECK(to_string(BatchBin::five_to_sixteen) == "5-16");
  CHECK(to_string(Phase::decode) == "decode");
}

}  // namespace
}  // namespace nsa
