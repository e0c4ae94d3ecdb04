// Reserves, the flat view, the break-even length and what changed.
#include "break_even.hpp"
#include "catch.hpp"
#include "decide_support.hpp"
#include "flat_view.hpp"
#include "reserves.hpp"

using namespace nsa::tuner;
using namespace sim;
using nsa::ClassDecisions;
using nsa::Decision;
using nsa::FlatView;

namespace {

Decision decision(const std::string& stage,
                  std::vector<std::pair<std::int64_t, std::string>> from) {
  Decision d;
  d.stages = {stage};
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::optional<std::int64_t> to;
    if (i + 1 < from.size()) to = from[i + 1].first;
    d.ranges.push_back(range(from[i].first, to, id(from[i].second, stage)));
  }
  return d;
}

FlatView flat(std::vector<Decision> decisions, const std::vector<VariantTraits>& traits = {}) {
  ClassDecisions of;
  of.decisions = std::move(decisions);
  return flat_view(of, traits);
}

nsa::Reserves reserves(nsa::ReserveNeed need, std::optional<std::int64_t> memory) {
  Measurement row;
  row.need = need;
  const Observations seen(std::vector<Measurement>{row});
  ClassRows rows;
  rows.rows = {&seen.rows().front()};
  nsa::Device device;
  device.memory_bytes = memory;
  return reserves_of(rows, device);
}

}  // namespace

TEST_CASE("a threshold of the flat view is where the variant is chosen for good", "[decide]") {
  const FlatView v = flat({decision("ranges", {{0, "ranges_v1"}, {700, "ranges_v2"}}),
                           decision("attend_window", {{0, "sdpa_math"}, {96, "fa2_dense"}}),
                           decision("attend_compressed", {{0, "fa2_varlen"}})});
  CHECK(v.sel_ranges_v2_min_s == 700);
  CHECK(v.fa2_min_len_win == 96);
  CHECK(v.fa2_min_len_cmp == 0);
  CHECK_FALSE(v.lossy);
}

TEST_CASE("two variants of one family next to each other are one threshold", "[decide]") {
  const FlatView v =
      flat({decision("attend_window", {{0, "sdpa_math"}, {96, "fa2_dense"}, {400, "fa2_varlen"}})});
  CHECK(v.fa2_min_len_win == 96);
  CHECK_FALSE(v.lossy);
}

TEST_CASE("never is null, and a choice that is left again is null and lossy", "[decide]") {
  CHECK_FALSE(flat({decision("ranges", {{0, "ranges_v1"}})}).sel_ranges_v2_min_s.has_value());
  const FlatView v =
      flat({decision("attend_window", {{0, "sdpa_math"}, {96, "fa2_dense"}, {400, "sdpa_math"}})});
  CHECK_FALSE(v.fa2_min_len_win.has_value());
  CHECK(v.lossy);
}

TEST_CASE("masked everywhere sets the users' switch, masked somewhere is lossy", "[decide]") {
  const FlatView all = flat({decision("attend_selected", {{0, "masked"}})});
  CHECK(all.force_sel_mask);
  CHECK_FALSE(all.lossy);
  const FlatView some = flat({decision("attend_selected", {{0, "masked"}, {512, "packed"}})});
  CHECK_FALSE(some.force_sel_mask);
  CHECK(some.use_sel_pack);
  CHECK(some.lossy);
  const FlatView other = flat({decision("attend_selected", {{0, "fused_query"}})});
  CHECK_FALSE(other.force_sel_mask);
  CHECK(other.lossy);
}

TEST_CASE("the varlen minimum is in tokens of a row, which end at n l'", "[decide]") {
  const FlatView v = flat({decision("attend_selected", {{0, "packed"}, {600, "varlen_v2"}})});
  CHECK(v.use_sel_varlen);
  CHECK(v.sel_varlen_min_l == 600);
  CHECK_FALSE(v.lossy);
  const FlatView far = flat({decision("attend_selected", {{0, "packed"}, {5000, "varlen_v2"}})});
  CHECK(far.sel_varlen_min_l == 1024);  // 16 blocks of 64
  CHECK(far.lossy);
  CHECK_FALSE(far.sel_triton_min_l.has_value());
}

TEST_CASE("switches without a length follow the chosen variant", "[decide]") {
  const std::vector<VariantTraits> traits{
      {id("p_cmp_bf16", "score"), true, false, nsa::SwitchTarget::p_cmp_mixed},
      {id("token_by_token", "attention"), true, false, nsa::SwitchTarget::sequential}};
  const FlatView v =
      flat({decision("score", {{0, "p_cmp_bf16"}}), decision("gate_combine", {{0, "gate_fused"}}),
            decision("attention", {{0, "token_by_token"}})},
           traits);
  CHECK(v.p_cmp_mixed);
  CHECK(v.gate_compile);
  CHECK_FALSE(v.prefill_batched);
  CHECK_FALSE(v.lossy);
  const FlatView none = flat({});
  CHECK_FALSE(none.p_cmp_mixed);
  CHECK(none.prefill_batched);
}

TEST_CASE("reserves are the largest need within a quarter of the memory", "[decide]") {
  const nsa::Reserves plain = reserves({2000, 50'000, 300, 1024}, 1LL << 36);
  CHECK(plain.varlen_reserve_n == 2000);
  CHECK(plain.varlen_reserve_k == 50'000);
  CHECK(plain.sel_pack_reserve_n == 300);
  CHECK(plain.sel_pack_reserve_l == 1024);
  // fp32, 64 + 64: 512 bytes a token, 3072 a row of six heads; a quarter is 4 MiB
  const nsa::Reserves cut = reserves({0, 50'000, 300, 1024}, 1LL << 24);
  CHECK_FALSE(cut.varlen_reserve_n.has_value());
  CHECK(cut.varlen_reserve_k == (1 << 22) / 512);
  CHECK(cut.sel_pack_reserve_n == 7);  // 4 MiB / (3072 + 1024 * 512)
  CHECK(cut.sel_pack_reserve_l == 1024);
  CHECK(reserves({}, 1LL << 36) == nsa::Reserves{});
}

TEST_CASE("reserves keep to the limits of the users' names", "[decide]") {
  const nsa::Reserves r = reserves({5'000'000, 500'000'000, 200'000, 20'000}, {});
  CHECK(r.varlen_reserve_n == 1'000'000);
  CHECK(r.varlen_reserve_k == 100'000'000);
  CHECK(r.sel_pack_reserve_n == 100'000);
  CHECK(r.sel_pack_reserve_l == 10'000);
}

TEST_CASE("needs of failed rows reserve nothing, needs of the rest reach the flat view",
          "[decide]") {
  Session s;
  s.variants = {{"packed", linear(10)}, {"masked", linear(20)}};
  auto rows = measure(s);
  rows[0].need = nsa::ReserveNeed{0, 0, 128, 640};
  rows[1].need = nsa::ReserveNeed{0, 0, 9999, 640};
  rows[1].outcome = nsa::Outcome::crashed;
  const auto report = nsa::tuner::decide(input_of(s, rows));
  CHECK(report.table.classes[0].reserves.sel_pack_reserve_n == 128);
  CHECK(report.table.classes[0].flat.sel_pack_reserve_n == 128);
  CHECK(report.table.classes[0].flat.use_sel_pack);
}

namespace {

/// NSA in n log n against dense in n^2, equal at `crossing`.
DecideInput with_dense(double crossing) {
  Session s;
  s.stage = "attention";
  s.variants = {{"plan", [](double n) { return 1e4 * n; }},
                {"dense_sdpa", [=](double n) { return 1e4 * n * n / crossing; }}};
  auto input = input_of(s, measure(s));
  input.variants[1].yardstick = true;
  return input;
}

}  // namespace

TEST_CASE("the break-even length is where NSA begins to beat dense for good", "[decide]") {
  const auto report = nsa::tuner::decide(with_dense(1500));
  const auto& found = report.table.classes.at(0).dense_break_even;
  REQUIRE(found.has_value());
  CHECK(*found->from == 1500);
  CHECK(found->largest == 16384);
  CHECK(found->ratio_at_largest == Approx(1500.0 / 16384).epsilon(1e-3));
  CHECK(found->yardstick == "attention/dense_sdpa");
  CHECK(describe(*found) ==
        "attention: NSA beats dense from seq_len 1500 on; at 16384 it takes 0.0916 of the time of "
        "attention/dense_sdpa");
}

TEST_CASE("of several dense attentions the fastest at each length counts", "[decide]") {
  Session s;
  s.stage = "attention";
  s.variants = {{"plan", [](double n) { return 1e4 * n; }},
                {"dense", [](double n) { return 20 * n * n; }},  // would be even at 500
                {"dense_fa2", [](double n) { return 1e6 + 5 * n * n; }},
                {"dense_sdpa", [](double n) { return 1e4 * n * n / 1500; }}};
  auto input = input_of(s, measure(s));
  for (std::size_t i = 1; i < 4; ++i) input.variants[i].yardstick = true;
  const auto found = nsa::tuner::decide(input).table.classes.at(0).dense_break_even.value();
  // dense_sdpa alone would be even at 1500; from 775 on dense_fa2 is faster, and even at 1894
  CHECK(*found.from > 1700);
  CHECK(*found.from < 2000);
  CHECK(found.yardstick == "attention/dense_fa2");
}

TEST_CASE("the break-even length is 0 for always and absent for never", "[decide]") {
  const auto always = nsa::tuner::decide(with_dense(10)).table.classes[0].dense_break_even;
  CHECK(always.value().from == 0);
  const auto never = nsa::tuner::decide(with_dense(1e6)).table.classes[0].dense_break_even;
  CHECK_FALSE(never.value().from.has_value());
  CHECK(describe(*never).find("never beats dense up to seq_len 16384") != std::string::npos);
  Session s;
  s.variants = {{"a", linear(1)}};
  CHECK_FALSE(sim::decide(s).table.classes[0].dense_break_even.has_value());
}

TEST_CASE("compare_tables says what changed and nothing of what did not", "[decide]") {
  nsa::ThresholdTable before;
  before.classes.resize(1);
  before.classes[0].decisions = {
      decision("attend_selected", {{0, "masked"}, {1024, "fused_query"}})};
  nsa::ThresholdTable after = before;
  after.classes[0].decisions[0].ranges[0].evidence.pairs = 99;
  CHECK(compare_tables(before, after).empty());
  after.classes[0].decisions = {decision("attend_selected", {{0, "masked"}, {800, "fused_query"}}),
                                decision("ranges", {{0, "ranges_v2"}})};
  after.classes[0].reserves.varlen_reserve_n = 5;
  const std::string where =
      "forward prefill fp32 12/2 heads 64/64 l32 d16 l'64 n16 w512 batch 1 overlap low: ";
  CHECK(compare_tables(before, after) ==
        std::vector<std::string>{
            where + "attend_selected: seq_len [800, 1024): masked -> fused_query",
            where + "ranges: new decision", where + "varlen_reserve_n: none -> 5"});
  CHECK(compare_tables(after, before).back() == where + "varlen_reserve_n: 5 -> none");
  after.classes.clear();
  CHECK(compare_tables(before, after) == std::vector<std::string>{where + "no longer decided"});
}
