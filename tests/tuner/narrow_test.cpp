#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/tuner/count_text.hpp"
#include "nsa/tuner/plan.hpp"

using namespace nsa;
using namespace nsa::tuner;

namespace {

SweepSpec two_families() {
  SweepSpec spec;
  spec.name = "two";
  Problem decode;
  decode.phase = Phase::decode;
  decode.seq_lens = {1};
  spec.families = {
      {"prefill", {}, {{"seq_len", {"128", "512"}}}, {"ranges", "attend_window"}, {}, {}},
      {"decode", decode, {{"context_len", {"511"}}}, {"attend_window"}, {"fa2_*"}, {}}};
  return spec;
}

}  // namespace

TEST_CASE("no option leaves a spec as it is", "[tuner]") {
  CHECK(narrow(two_families(), {}) == two_families());
}

TEST_CASE("an axis option replaces the values and drops families with another value", "[tuner]") {
  const auto spec = narrow(two_families(), {{}, {}, {{"seq_len", {"64"}}}});
  REQUIRE(spec.families.size() == 1);
  CHECK(spec.families[0].name == "prefill");
  CHECK(spec.families[0].axes[0].second == std::vector<std::string>{"64"});
}

TEST_CASE("a family whose base has the value stays", "[tuner]") {
  const auto spec = narrow(two_families(), {{}, {}, {{"seq_len", {"1", "64"}}}});
  CHECK(spec.families.size() == 2);
}

TEST_CASE("no layers are an axis of families without a model only", "[tuner]") {
  SweepSpec spec = two_families();
  CHECK_NOTHROW(narrow(spec, {{}, {}, {{"layers", {"0"}}}}));
  spec.families[0].base.model = {768, 12, 256};
  CHECK_THROWS_AS(narrow(spec, {{}, {}, {{"layers", {"1", "0"}}}}), InputError);
  CHECK_NOTHROW(narrow(spec, {{}, {}, {{"layers", {"1"}}}}));
}

TEST_CASE("an axis that no family has is given to all", "[tuner]") {
  const auto spec = narrow(two_families(), {{}, {}, {{"dtype", {"bf16"}}}});
  REQUIRE(spec.families.size() == 2);
  for (const Problem& problem : expand(spec)) CHECK(problem.dtype == Dtype::bf16);
}

TEST_CASE("a stage option keeps the families that have the stage", "[tuner]") {
  const auto spec = narrow(two_families(), {{"ranges"}, {}, {}});
  CHECK(spec.stages == std::vector<std::string>{"ranges"});
  REQUIRE(spec.families.size() == 1);
  CHECK_THROWS_AS(narrow(two_families(), {{"score"}, {}, {}}), InputError);
}

TEST_CASE("a misspelt stage gets a suggestion, and one that the spec lacks does not", "[tuner]") {
  const auto refusal = [](const char* stage) {
    try {
      narrow(two_families(), {{stage}, {}, {}});
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  CHECK(refusal("attend_widnow") ==
        "--stage attend_widnow: no such stage; did you mean attend_window?");
  CHECK(refusal("nowhere") == "--stage nowhere: no such stage");
  CHECK(refusal("score").find("no family of the spec 'two' covers it") != std::string::npos);
  CHECK(refusal("attend_*") == "taken");
}

TEST_CASE("values of an axis may be written in capitals, and half a range is explained",
          "[tuner]") {
  Problem problem;
  set_axis(problem, "dtype", parse_axis_option("dtype=BF16").second.front());
  CHECK(problem.dtype == Dtype::bf16);
  try {
    parse_axis_option("seq_len=128:65536");
    FAIL("taken");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()).find("128:64k:x2") != std::string::npos);
  }
}

TEST_CASE("a range counts in whole numbers, also where a double skips some", "[tuner]") {
  using Values = std::vector<std::string>;
  CHECK(parse_range("9007199254740993:9007199254740995:+1") ==
        Values{"9007199254740993", "9007199254740994", "9007199254740995"});
  CHECK(parse_range("4611686018427387904:9223372036854775807:x2") == Values{"4611686018427387904"});
  CHECK(parse_range("1:5:+3") == Values{"1", "4"});
  CHECK(parse_range("-3:-1:+1") == Values{"-3", "-2", "-1"});
  CHECK(parse_range("-9223372036854775808:-9223372036854775807:+9223372036854775807") ==
        Values{"-9223372036854775808"});
}

TEST_CASE("variant options do not widen what the spec allows", "[tuner]") {
  SweepSpec spec = two_families();
  spec.variants = {"sdpa*"};
  spec = narrow(std::move(spec), {{}, {"fa2_dense"}, {}});
  CHECK(spec.variants == std::vector<std::string>{"fa2_dense"});
  REQUIRE(spec.families.size() == 1);  // decode wanted fa2_* within sdpa*: nothing
  CHECK(spec.families[0].variants == std::vector<std::string>{"sdpa*"});
}

TEST_CASE("options that leave nothing are refused", "[tuner]") {
  SweepSpec spec = two_families();
  spec.families.erase(spec.families.begin());
  spec.families.push_back(spec.families[0]);
  spec.families[0].axes = {{"batch", {"2"}}};
  spec.families[1].base.q_heads = 24;
  CHECK_NOTHROW(narrow(spec, {{}, {}, {{"batch", {"1"}}}}));
  CHECK_THROWS_AS(narrow(spec, {{"ranges"}, {}, {}}), InputError);
}

TEST_CASE("an axis option is a known name, an equals sign and values", "[tuner]") {
  const auto axis = parse_axis_option("seq_len=512,2048");
  CHECK(axis.first == "seq_len");
  CHECK(axis.second == std::vector<std::string>{"512", "2048"});
  for (const char* wrong : {"seq_len", "=5", "seq_len=", "seq_len=1,,2", "color=red", "seq_len=x",
                            "dtype=fp8", "overlap=[1]"})
    CHECK_THROWS_AS(parse_axis_option(wrong), InputError);
}
