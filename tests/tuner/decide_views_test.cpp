// Reserves, the flat view, the break-even length and what changed.
#include "catch.hpp"
#include "decide/ranges/break_even.hpp"
#include "decide/tables/flat_view.hpp"
#include "decide/tables/reserves.hpp"
#include "decide_support.hpp"

using namespace nsa::tuner;
using namespace sim;
using nsa::ClassDecisions;
using nsa::Decision;
using nsa::FlatValue;
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

/// A session of one stage in which the named variants take these times at these lengths.
using Times = std::vector<std::pair<std::string, Truth>>;
Session session(const std::string& stage, Times times) {
  Session s;
  s.stage = stage;
  s.variants = std::move(times);
  return s;
}

/// The flat view that is decided from sessions of one class.
FlatView flat(const std::vector<Session>& sessions, std::vector<VariantTraits> traits = {}) {
  DecideInput input;
  std::vector<Measurement> rows;
  for (const Session& s : sessions) {
    const std::vector<Measurement> of_session = measure(s);
    rows.insert(rows.end(), of_session.begin(), of_session.end());
    DecideInput one = input_of(s, {});
    std::erase_if(one.variants, [&](const VariantTraits& t) {
      return std::ranges::find(traits, t.id, &VariantTraits::id) != traits.end();
    });
    input.variants.insert(input.variants.end(), one.variants.begin(), one.variants.end());
    input.options = one.options;
  }
  input.rows = rows;
  input.variants.insert(input.variants.end(), traits.begin(), traits.end());
  return nsa::tuner::decide(input).table.classes.at(0).flat;
}

Truth constant(double ns) {
  return [ns](double) { return ns; };
}
/// Faster than constant(1e5) from `length` on.
Truth better_from(double length) { return crossing_at(length, 0.2, constant(1e5)); }
/// Faster than constant(1e5) below `length`.
Truth better_below(double length) { return crossing_at(length, -0.2, constant(1e5)); }

/// Rows of a variant on two problems, whose first launch takes `grown_ns` with an empty workspace
/// and `reserved_ns` with a reserve; a launch takes 1 ms.
std::vector<Measurement> first_launches(const std::string& coordinate, nsa::ReserveNeed need,
                                        std::int64_t grown_ns, std::int64_t reserved_ns) {
  std::vector<Measurement> found;
  for (const std::int64_t length : {1024, 4096}) {
    for (const std::int64_t reserve : {0, 65536}) {
      Measurement row;
      row.problem.seq_lens = {length};
      row.variant = {{"attend_selected"}, "packs", {{coordinate, reserve}}};
      row.need = need;
      row.median_ns = 1e6;
      row.first_call_ns = reserve == 0 ? grown_ns : reserved_ns;
      found.push_back(row);
    }
  }
  return found;
}

nsa::Reserves reserves_from(const std::vector<Measurement>& measured,
                            std::optional<std::int64_t> memory, std::string* said = nullptr) {
  const Observations seen(measured);
  ClassRows rows;
  for (const Observation& one : seen.rows()) rows.rows.push_back(&one);
  nsa::Device device;
  device.memory_bytes = memory;
  const auto decided = reserves_of(rows, device);
  if (said) *said = decided.gains.varlen ? describe(*decided.gains.varlen) : "";
  return decided.reserves;
}

nsa::Reserves reserves(nsa::ReserveNeed need, std::optional<std::int64_t> memory) {
  auto measured = first_launches("reserve_keys", need, 1'900'000, 1'010'000);
  const auto packed = first_launches("reserve_rows", need, 2'500'000, 1'020'000);
  measured.insert(measured.end(), packed.begin(), packed.end());
  return reserves_from(measured, memory);
}

}  // namespace

TEST_CASE("a length of the flat view is where the path is chosen for good", "[decide]") {
  const FlatView v =
      flat({session("ranges", {{"ranges_v1", constant(1e5)}, {"ranges_v2", better_from(700)}}),
            session("attend_selected", {{"masked", constant(1e5)}, {"packed", constant(2e5)}})});
  REQUIRE(v.sel_ranges_v2_min_s.length());
  CHECK(*v.sel_ranges_v2_min_s.length() == Approx(700).margin(10));
  CHECK_FALSE(v.lossy);
}

TEST_CASE("always, never, not measured and a length are four different values", "[decide]") {
  const auto ranges = [](double v1, double v2) {
    return flat({session("ranges", {{"ranges_v1", constant(v1)}, {"ranges_v2", constant(v2)}})})
        .sel_ranges_v2_min_s;
  };
  CHECK(ranges(2e5, 1e5) == FlatValue::always());
  CHECK(ranges(1e5, 2e5) == FlatValue::never());
  CHECK(flat({session("gate_combine", {{"three_steps", constant(1)}, {"gate_fused", constant(2)}})})
            .sel_ranges_v2_min_s == FlatValue());
}

TEST_CASE("a path that met no other one of the users' is as good as not measured", "[decide]") {
  const FlatView v = flat({session("ranges", {{"ranges_v2", constant(1e5)}}),
                           session("score", {{"materialised", constant(1e5)}})});
  CHECK(v.sel_ranges_v2_min_s == FlatValue());
  CHECK(v.p_cmp_mixed == FlatValue());
}

TEST_CASE("the flat view switches nothing on that a longer length overtakes", "[decide]") {
  Session met =
      session("attend_selected", {{"masked", constant(1e5)}, {"varlen_v2", constant(3e5)}});
  met.lengths = {128, 512, 2048};
  Session alone = session("attend_selected", {{"masked", constant(1e5)}});
  alone.lengths = {8192, 20000};
  const std::vector<VariantTraits> orders{
      {.id = id("masked"), .path = nsa::SwitchTarget::masked, .order = nsa::kQuadratic},
      {.id = id("varlen_v2"), .path = nsa::SwitchTarget::varlen_v2, .order = nsa::WorkOrder{}}};
  const FlatView v = flat({met, alone}, orders);
  CHECK(v.force_sel_mask == FlatValue());
  CHECK(v.sel_varlen_min_l == FlatValue());
  CHECK(flat({met, alone}).force_sel_mask == FlatValue::always());  // nothing is declared
}

TEST_CASE("two forms of FlashAttention-2 are one length", "[decide]") {
  Session s = session("attend_window", {{"sdpa_math", better_below(96)},
                                        {"fa2_dense", constant(1e5)},
                                        {"fa2_varlen", constant(1.5e5)}});
  s.lengths = {32, 64, 128, 256, 512};
  const FlatView v = flat({s});
  REQUIRE(v.fa2_min_len_win.length());
  CHECK(*v.fa2_min_len_win.length() == Approx(96).margin(5));
  CHECK_FALSE(v.lossy);
}

TEST_CASE("a choice that is left again is the length that loses least, and lossy", "[decide]") {
  Session s = session("attend_window",
                      {{"sdpa_math", constant(1e5)},
                       {"fa2_dense", [](double n) { return n > 100 && n < 400 ? 8e4 : 2e5; }}});
  s.lengths = {32, 64, 128, 256, 500, 512};
  const FlatView v = flat({s});
  CHECK(v.fa2_min_len_win == FlatValue::never());
  CHECK(v.lossy);
}

TEST_CASE("the selection switches name the path that runs when they are set", "[decide]") {
  const auto selected = [](Times times) { return flat({session("attend_selected", times)}); };
  const FlatView mask = selected({{"masked", constant(1)}, {"packed", constant(2)}});
  CHECK(mask.force_sel_mask == FlatValue::always());
  CHECK(mask.use_sel_pack == FlatValue::never());
  CHECK(mask.use_sel_varlen == FlatValue());
  const FlatView pack = selected({{"masked", constant(2)}, {"packed", constant(1)}});
  CHECK(pack.force_sel_mask == FlatValue::never());
  CHECK(pack.use_sel_pack == FlatValue::always());
  CHECK_FALSE(pack.lossy);
}

TEST_CASE("a kernel that the users have not got leaves the choice to the best that they have",
          "[decide]") {
  const FlatView v = flat({session(
      "attend_selected",
      {{"fused_query", constant(1e5)}, {"masked", constant(3e5)}, {"packed", constant(2e5)}})});
  CHECK(v.use_sel_pack == FlatValue::always());  // all three off would be their slow path
  CHECK(v.force_sel_mask == FlatValue::never());
  CHECK_FALSE(v.lossy);
}

TEST_CASE("all three switches off, the users' slow path, is never the choice", "[decide]") {
  const FlatView v = flat({session("attend_selected", {{"gather", constant(1e5)},
                                                       {"ranges", constant(1e5)},
                                                       {"packed", constant(3e5)},
                                                       {"varlen_v2", constant(2e5)}})});
  CHECK(v.use_sel_varlen == FlatValue::always());
  CHECK(v.sel_varlen_min_l == FlatValue::always());
  CHECK(v.force_sel_mask == FlatValue::never());
  CHECK_FALSE(v.lossy);
}

TEST_CASE("masked at some lengths only is the switch that loses least, and lossy", "[decide]") {
  const FlatView v = flat(
      {session("attend_selected", {{"masked", better_below(4096)}, {"packed", constant(1e5)}})});
  CHECK(v.force_sel_mask == FlatValue::always());
  CHECK(v.lossy);
}

TEST_CASE("the varlen minimum is in tokens of a row, which end at n l'", "[decide]") {
  const auto varlen = [](double from) {
    return flat({session("attend_selected",
                         {{"packed", constant(1e5)}, {"varlen_v2", better_from(from)}})});
  };
  const FlatView v = varlen(600);
  CHECK(v.use_sel_varlen == FlatValue::always());
  REQUIRE(v.sel_varlen_min_l.length());
  CHECK(*v.sel_varlen_min_l.length() == Approx(600).margin(10));
  CHECK_FALSE(v.lossy);
  const FlatView far = varlen(5000);  // a row has 16 blocks of 64 at most
  CHECK(far.lossy);
  CHECK(far.sel_triton_min_l == FlatValue());
}

TEST_CASE("switches without a length follow the chosen variant", "[decide]") {
  const std::vector<VariantTraits> traits{
      {id("token_by_token", "attention"), true, false, nsa::SwitchTarget::sequential}};
  const FlatView v =
      flat({session("score", {{"materialised", constant(2)}, {"p_cmp_bf16", constant(1)}}),
            session("attention", {{"batched", constant(2e5)}, {"token_by_token", constant(1e5)}})},
           traits);
  CHECK(v.p_cmp_mixed == FlatValue::always());
  CHECK(v.prefill_batched == FlatValue::never());
  CHECK(v.gate_compile == FlatValue());
  CHECK_FALSE(v.lossy);
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

TEST_CASE("what saves nothing is not reserved, and what does is said", "[decide]") {
  const nsa::ReserveNeed need{2000, 50'000, 0, 0};
  std::string said;
  CHECK(reserves_from(first_launches("reserve_keys", need, 1'900'000, 1'000'000), {}, &said)
            .varlen_reserve_k == 50'000);
  CHECK(said ==
        "0.9 ms of a first launch, 0.9 times what a launch takes, faster on 2 of 2 problems; "
        "measured at seq_len "
        "1024 to 4096");
  // 3 % of a launch; slower with it; on one problem only; not measured with one at all
  CHECK(reserves_from(first_launches("reserve_keys", need, 1'030'000, 1'000'000), {}) ==
        nsa::Reserves{});
  CHECK(reserves_from(first_launches("reserve_keys", need, 1'000'000, 1'900'000), {}) ==
        nsa::Reserves{});
  auto one = first_launches("reserve_keys", need, 1'900'000, 1'000'000);
  one.resize(2);
  CHECK(reserves_from(one, {}) == nsa::Reserves{});
  Measurement plain;
  plain.need = need;
  CHECK(reserves_from({plain}, {}) == nsa::Reserves{});
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
  for (Measurement& row : std::vector<Measurement>(rows)) {  // what a reserve saves of first calls
    if (row.variant.name != "packed" || row.need) continue;
    row.variant.point = {{"reserve_rows", 0}};
    row.first_call_ns = 2'000'000'000;
    rows.push_back(row);
    row.variant.point = {{"reserve_rows", 4096}};
    row.first_call_ns = 1'000'000'000;
    rows.push_back(row);
  }
  const auto report = nsa::tuner::decide(input_of(s, rows));
  CHECK(report.table.classes[0].reserves.sel_pack_reserve_n == 128);
  CHECK(report.table.classes[0].flat.sel_pack_reserve_n == 128);
  CHECK(report.table.classes[0].flat.use_sel_pack == FlatValue::always());
}

namespace {

/// NSA in n log n against dense in n^2, equal at `crossing`.
DecideInput with_dense(double crossing) {
  Session s;
  s.stage = "attention";
  s.variants = {{"plan", [](double n) { return 1e4 * n; }},
                {"dense_sdpa", [=](double n) { return 1e4 * n * n / crossing; }}};
  auto input = input_of(s, measure(s));
  input.variants[1].baseline = true;
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
  CHECK(found->baseline == "attention/dense_sdpa");
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
  for (std::size_t i = 1; i < 4; ++i) input.variants[i].baseline = true;
  const auto found = nsa::tuner::decide(input).table.classes.at(0).dense_break_even.value();
  // dense_sdpa alone would be even at 1500; from 775 on dense_fa2 is faster, and even at 1894
  CHECK(*found.from > 1700);
  CHECK(*found.from < 2000);
  CHECK(found.baseline == "attention/dense_fa2");
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

TEST_CASE("compare_tables compares what runs where every tile is full", "[decide]") {
  nsa::ThresholdTable before;
  before.classes.resize(1);
  before.classes[0].decisions = {
      decision("attend_selected", {{0, "masked"}, {1024, "fused_query"}})};
  nsa::ThresholdTable after = before;
  nsa::Decision& now = after.classes[0].decisions[0];
  now.alignment = nsa::Alignment{128, now.ranges};
  CHECK(compare_tables(before, after).empty());  // the same, told apart
  now.alignment->ranges[1].variant.name = "gather";
  const std::string where =
      "forward prefill fp32 12/2 heads 64/64 l32 d16 l'64 n16 w512 batch 1 overlap low: "
      "attend_selected at multiples of 128: seq_len [1024, inf): ";
  CHECK(compare_tables(before, after) == std::vector<std::string>{where + "fused_query -> gather"});
  CHECK(compare_tables(after, before) == std::vector<std::string>{where + "gather -> fused_query"});
}
