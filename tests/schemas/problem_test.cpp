#include "nsa/schemas/problem.hpp"

#include <functional>
#include <limits>

#include "catch.hpp"
#include "filled.hpp"

namespace nsa {
namespace {

using Change = std::function<void(Problem&)>;

struct Case {
  const char* name;
  Change change;
  const char* pointer;
};

const std::vector<Case>& broken_problems() {
  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  static const std::vector<Case> kCases{
      {"no sequence", [](Problem& p) { p.seq_lens = {}; }, "/seq_lens: empty"},
      {"no context for a sequence",
       [](Problem& p) {
         p.seq_lens = {1, 2};
       },
       "/context_lens: 1 v"},
      {"too large a batch",
       [](Problem& p) { p.seq_lens.assign(65537, 1), p.context_lens.assign(65537, 0); },
       "/seq_lens: 65537 sequences"},
      {"an empty sequence", [](Problem& p) { p.seq_lens = {0}; }, "/seq_lens/0: 0 is outside"},
      {"a negative sequence", [](Problem& p) { p.seq_lens = {-5}; }, "/seq_lens/0: -5 is outside"},
      {"a negative context", [](Problem& p) { p.context_lens = {-1}; }, "/context_lens/0: -1 is"},
      {"a huge sequence", [](Problem& p) { p.seq_lens = {kHuge}; }, "/seq_lens/0"},
      {"too many tokens in all",
       [](Problem& p) { p.seq_lens.assign(2, 1 << 30), p.context_lens.assign(2, 1 << 30); },
       "/seq_lens: 4294967296 tokens"},
      {"a prefill with a cache", [](Problem& p) { p.context_lens = {7}; }, "/context_lens/0: 7 c"},
      {"a decode of two tokens", [](Problem& p) { p.phase = Phase::decode, p.seq_lens = {2}; },
       "/seq_lens/0: 2 new"},
      {"no query head", [](Problem& p) { p.q_heads = 0; }, "/q_heads: 0 is outside"},
      {"no kv head", [](Problem& p) { p.kv_heads = 0; }, "/kv_heads: 0 is outside"},
      {"heads that do not divide", [](Problem& p) { p.kv_heads = 5; }, "/q_heads: 12 is not"},
      {"too many heads", [](Problem& p) { p.q_heads = 65538; }, "/q_heads: 65538"},
      {"an odd key head", [](Problem& p) { p.head_dim_k = 63; }, "/head_dim_k: 63 is odd"},
      {"no key head", [](Problem& p) { p.head_dim_k = 0; }, "/head_dim_k: 0"},
      {"no value head", [](Problem& p) { p.head_dim_v = -64; }, "/head_dim_v: -64"},
      {"integers as storage", [](Problem& p) { p.dtype = Dtype::int32; }, "/dtype: int32"},
      {"d does not divide l", [](Problem& p) { p.geometry.cmp_block = 40; }, "/cmp_stride: 16 d"},
      {"d does not divide l'", [](Problem& p) { p.geometry.sel_block = 40; }, "/cmp_stride: 16 d"},
      {"no compression block", [](Problem& p) { p.geometry.cmp_block = 0; }, "/cmp_block: 0"},
      {"no stride", [](Problem& p) { p.geometry.cmp_stride = 0; }, "/cmp_stride: 0"},
      {"no selection block", [](Problem& p) { p.geometry.sel_block = 0; }, "/sel_block: 0"},
      {"fewer blocks than forced", [](Problem& p) { p.geometry.sel_count = 2; }, "/sel_count: 2 "},
      {"too many blocks", [](Problem& p) { p.geometry.sel_count = 65537; }, "/sel_count: 65537"},
      {"a negative window", [](Problem& p) { p.geometry.window = -1; }, "/window: -1"},
      {"a huge window", [](Problem& p) { p.geometry.window = kHuge; }, "/window: 9223372036854"},
      {"a negative model", [](Problem& p) { p.model.model_dim = -1; }, "/model_dim: -1"},
      {"too many layers",
       [](Problem& p) {
         p.model = {64, 65537, 0};
       },
       "/layers: 65537"},
      {"too large a vocabulary",
       [](Problem& p) {
         p.model = {64, 1, 1 << 25};
       },
       "/vocab_size: 33554432"},
      {"layers without a width", [](Problem& p) { p.model.layers = 2; }, "/model_dim: missing"},
      {"an overlap above one", [](Problem& p) { p.selection.overlap = 1.5; }, "/selection/overlap"},
      {"an overlap that is not a number",
       [](Problem& p) { p.selection.overlap = std::numeric_limits<double>::quiet_NaN(); },
       "/selection/overlap"},
      {"tensors beyond 64 bits",
       [](Problem& p) { p.seq_lens = {1 << 30}, p.q_heads = 65536, p.head_dim_k = 65536; },
       "/head_dim_k: tokens"},
      {"scores beyond 64 bits", [](Problem& p) { p.seq_lens = {1 << 30}, p.q_heads = 4096; },
       "/seq_lens: queries"},
  };
  return kCases;
}

TEST_CASE("every broken constraint of a problem is named with its pointer", "[schemas]") {
  for (const auto& broken : broken_problems()) {
    Problem p;
    broken.change(p);
    const auto violation = find_violation(p);
    INFO(broken.name);
    REQUIRE(violation);
    CAPTURE(*violation);
    CHECK(violation->starts_with(broken.pointer));
    CHECK(violation->find('\n') == std::string::npos);
  }
}

TEST_CASE("problems within the limits are valid", "[schemas]") {
  CHECK_FALSE(find_violation(Problem{}));
  CHECK_FALSE(find_violation(test::filled_problem()));
  Problem one_token;
  one_token.seq_lens = {1};
  CHECK_FALSE(find_violation(one_token));
  Problem decode;
  decode.phase = Phase::decode;
  decode.seq_lens = {1, 1};
  decode.context_lens = {0, 65536};
  CHECK_FALSE(find_violation(decode));
  Problem chunk = decode;
  chunk.phase = Phase::chunked_prefill;
  chunk.seq_lens = {5, 1};
  CHECK_FALSE(find_violation(chunk));
  Problem no_window;
  no_window.geometry.window = 0;
  CHECK_FALSE(find_violation(no_window));
  Problem million;  // a million tokens of the paper's shape
  million.seq_lens = {1 << 20};
  million.q_heads = 64;
  million.kv_heads = 4;
  million.head_dim_k = 192;
  CHECK_FALSE(find_violation(million));
}

TEST_CASE("require_valid puts the place before the pointer", "[schemas]") {
  Problem p;
  p.geometry.sel_count = 1;
  CHECK(test::message_of([&] {
          require_valid(p, "sweep.json");
        }).starts_with("sweep.json: /sel_count: 1 is below 3"));
  CHECK(test::message_of([] { require_valid(Problem{}, "sweep.json"); }).empty());
}

TEST_CASE("lengths of a ragged batch are summed and maximised per sequence", "[schemas]") {
  Problem p;
  p.phase = Phase::chunked_prefill;
  p.seq_lens = {100, 37};
  p.context_lens = {512, 640};
  CHECK(p.batch() == 2);
  CHECK(p.total_tokens() == 137);
  CHECK(p.total_context() == 1289);
  CHECK(p.max_seq_len() == 100);
  CHECK(p.max_context() == 640);
  CHECK(p.max_kv_len() == 677);
  CHECK(p.max_compressed() == (677 - 32) / 16 + 1);
  CHECK(axis_value(p, Axis::seq_len) == 100);
  CHECK(axis_value(p, Axis::context_len) == 640);
  CHECK(axis_value(p, Axis::row_len) == 512);
  CHECK(axis_value(p, Axis::compressed_len) == p.max_compressed());
  p.seq_lens = {20, 1};
  p.context_lens = {0, 0};
  CHECK(axis_value(p, Axis::row_len) == 20);
  CHECK(axis_value(p, Axis::compressed_len) == 0);
}

TEST_CASE("the longest sequence is found wherever it stands in a batch", "[schemas]") {
  Problem p;
  for (std::size_t batch = 1; batch <= 5; ++batch) {
    for (std::size_t longest = 0; longest < batch; ++longest) {
      p.seq_lens.assign(batch, 7);
      p.seq_lens[longest] = 9;
      CHECK(p.max_seq_len() == 9);
    }
  }
  p.seq_lens.clear();
  CHECK(p.max_seq_len() == 0);
}

TEST_CASE("a class keeps the shape exactly and bins batch and overlap", "[schemas]") {
  const ProblemClass c = class_of(test::filled_problem());
  CHECK(c.direction == Direction::backward);
  CHECK(c.phase == Phase::chunked_prefill);
  CHECK(c.q_heads == 64);
  CHECK(c.kv_heads == 4);
  CHECK(c.head_dim_k == 192);
  CHECK(c.head_dim_v == 128);
  CHECK(c.geometry == Geometry{16, 8, 32, 8, 256});
  CHECK(c.dtype == Dtype::bf16);
  CHECK(c.batch_bin == BatchBin::two_to_four);
  CHECK(c.overlap_bin == OverlapBin::high);
}

TEST_CASE("bins begin where the names say", "[schemas]") {
  CHECK(batch_bin(1) == BatchBin::one);
  CHECK(batch_bin(2) == BatchBin::two_to_four);
  CHECK(batch_bin(4) == BatchBin::two_to_four);
  CHECK(batch_bin(5) == BatchBin::five_to_sixteen);
  CHECK(batch_bin(16) == BatchBin::five_to_sixteen);
  CHECK(batch_bin(17) == BatchBin::more);
  CHECK(overlap_bin(std::nullopt) == OverlapBin::low);
  CHECK(overlap_bin(0.49) == OverlapBin::low);
  CHECK(overlap_bin(0.5) == OverlapBin::middle);
  CHECK(overlap_bin(0.89) == OverlapBin::middle);
  CHECK(overlap_bin(0.9) == OverlapBin::high);
  CHECK(overlap_bin(std::numeric_limits<double>::quiet_NaN()) == OverlapBin::low);
}

TEST_CASE("stages are decided on the length that their kernels see", "[schemas]") {
  CHECK(axis_of(Stage::attend_window, Phase::prefill) == Axis::row_len);
  CHECK(axis_of(Stage::attend_window, Phase::decode) == Axis::row_len);
  CHECK(axis_of(Stage::attend_compressed, Phase::prefill) == Axis::compressed_len);
  CHECK(axis_of(Stage::attend_selected, Phase::prefill) == Axis::seq_len);
  CHECK(axis_of(Stage::attend_selected, Phase::decode) == Axis::context_len);
  CHECK(axis_of(Stage::ranges, Phase::chunked_prefill) == Axis::context_len);
}

}  // namespace
}  // namespace nsa
