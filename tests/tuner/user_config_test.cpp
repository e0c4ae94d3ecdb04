#include "nsa/tuner/user_config.hpp"

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::tuner;
using nsa::test::contains;

namespace {

const char* const kConfig = R"(model:
  dim: 2560
  n_layers: 4
  n_heads: 64
  n_kv_groups: 4
  d_k: 192
  d_v: 128
nsa:
  l: 32
  d: 16
  l_sel: 64
  n_sel: 16
  w: 512
  phi: "avg"
runtime:
  precision: "bf16"
  use_flash: true  # ignored
train:
  seq_len: 1024
  batch_size: 2
  lr: 3.0e-4
)";

std::string message_of(const std::string& text) {
  try {
    parse_user_config(text, "users.yaml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing thrown";
}

}  // namespace

TEST_CASE("a model of a config has a layer", "[tuner]") {
  CHECK(contains(message_of("model:\n  n_layers: 0\n"),
                 "users.yaml:2: model.n_layers: 0 is below 1"));
  CHECK(contains(message_of("model:\n  dim: -0\n"), "users.yaml:2: model.dim: 0 is below 1"));
  CHECK(parse_user_config("model:\n  n_layers: 1\n", "users.yaml").problem.model.layers == 1);
}

TEST_CASE("merge keys are expanded, own keys and the first map of a list win", "[tuner]") {
  const UserConfig config = parse_user_config(
      "a: &a {n_heads: 8, n_kv_groups: 4}\n"
      "b: &b {n_heads: 32, d_k: 32, d_v: 32}\n"
      "model:\n  <<: [*a, *b]\n  n_kv_groups: 2\n",
      "users.yaml", true);
  CHECK(config.problem.q_heads == 8);
  CHECK(config.problem.kv_heads == 2);
  CHECK(config.problem.head_dim_k == 32);
  CHECK(contains(message_of("model:\n  <<: 3\n"), "users.yaml:2: '<<' takes a map"));
  CHECK(contains(message_of("model:\n\tdim: 3\n"), "a tab indents; use blanks"));
  CHECK(contains(message_of("model: &m {d_k: 16, d_v: 16, <<: *m}\n"), ""));  // comes back
}

TEST_CASE("shape, precision and lengths are read from a user's config", "[tuner]") {
  const UserConfig config = parse_user_config(kConfig, "users.yaml");
  const Problem& p = config.problem;
  CHECK(p.model == ModelShape{2560, 4, 256});
  CHECK(p.q_heads == 64);
  CHECK(p.kv_heads == 4);
  CHECK(p.head_dim_k == 192);
  CHECK(p.head_dim_v == 128);
  CHECK(p.geometry == Geometry{32, 16, 64, 16, 512});
  CHECK(p.dtype == Dtype::bf16);
  CHECK(p.seq_lens == std::vector<std::int64_t>{1024, 1024});
}

TEST_CASE("lengths in a config may be written as on the command line", "[tuner]") {
  const UserConfig config = parse_user_config("train: {seq_len: 8k, batch_size: 2}\n", "a.yaml");
  CHECK(config.problem.seq_lens == std::vector<std::int64_t>{8192, 8192});
  CHECK(parse_user_config("train: {seq_len: 0x10}\n", "a.yaml").problem.seq_lens ==
        std::vector<std::int64_t>{16});
  CHECK(contains(message_of("train: {seq_len: 8q}\n"), "train.seq_len: '8q' is not an integer"));
}

TEST_CASE("escape sequences in the keys of a config do not reach the terminal", "[tuner]") {
  const UserConfig config = parse_user_config(
      "model: {dim: 64, n_layers: 1, n_heads: 4, n_kv_groups: 2, d_k: 16, d_v: 16}\n"
      "nsa: {l: 8, d: 4, l_sel: 8, n_sel: 4, w: 16, \"a\\e[2J\": 1}\n\"b\\e]0;x\\a\": 1\n",
      "users.yaml", true);
  REQUIRE(config.notes.size() == 1);
  CHECK(config.notes[0] == "users.yaml: unknown, ignored: nsa.a\\x1b[2J, b\\x1b]0;x\\x07");
  CHECK(message_of("\"a\\e[2J\": 1\n").find('\x1b') == std::string::npos);
}

TEST_CASE("keys without an effect here are one line", "[tuner]") {
  const UserConfig config = parse_user_config(kConfig, "users.yaml");
  REQUIRE(config.notes.size() == 1);
  CHECK(config.notes[0] == "users.yaml: ignored (no effect here): runtime.use_flash, train.lr");
}

TEST_CASE("a value is quoted without its escape sequences", "[tuner]") {
  for (const char* text :
       {"runtime: {precision: \"f\\e[31m\"}\n", "model: {dim: \"6\\e[31m\"}\n"}) {
    const std::string message = message_of(text);
    CHECK(contains(message, "[31m'"));
    CHECK(message.find('\033') == std::string::npos);
  }
}

TEST_CASE("an unknown key is refused with the nearest one, or ignored where that is asked for",
          "[tuner]") {
  CHECK(contains(message_of("modle: {dim: 64}\n"),
                 "users.yaml:1: modle: no such key; did you mean model?"));
  CHECK(contains(message_of("model:\n  n_kv_group: 2\n"),
                 "users.yaml:2: model.n_kv_group: no such key; did you mean model.n_kv_groups?"));
  CHECK(contains(message_of("train:\n  learning: 2\n"), "--ignore-unknown"));
  CHECK_FALSE(contains(message_of("wandb_project_name: x\n"), "did you mean"));
  const std::string many = "modle: {dim: 64}\nmodel: {dim: 96, n_kv_group: 2}\n";
  const UserConfig config = parse_user_config(many, "users.yaml", true);
  CHECK(config.problem.model.model_dim == 96);
  CHECK(config.notes ==
        std::vector<std::string>{"users.yaml: unknown, ignored: modle, model.n_kv_group"});
}

TEST_CASE("a key that is one slip away from a known one is told from keys of other programs",
          "[tuner]") {
  CHECK(misspelt_key("modle.dim") == "modle: no such key; did you mean model?");
  CHECK(misspelt_key("train.sek_len") == "train.sek_len: no such key; did you mean train.seq_len?");
  for (const char* fine : {"trainer.precision", "model.dim", "train.lr", "data.path", "optimizer"})
    CHECK(misspelt_key(fine).empty());
}

TEST_CASE("a precision is understood in capitals, too", "[tuner]") {
  for (const char* text : {"BF16", "bf16", "BFloat16"})
    CHECK(parse_user_config(std::string("runtime: {precision: ") + text + "}\n", "a.yaml")
              .problem.dtype == Dtype::bf16);
}

TEST_CASE("another pooling is another model", "[tuner]") {
  CHECK(
      contains(message_of("nsa:\n  phi: mlp\n"), "users.yaml:2: nsa.phi: 'mlp' is another model"));
  CHECK(message_of("nsa:\n  phi: avg\n") == "nothing thrown");
}

TEST_CASE("keys that stand for variables of the runtime are read", "[tuner]") {
  const UserConfig config = parse_user_config(
      "runtime:\n  fa2_enabled: false\n  fa2_min_len_win: -1\n  fa2_min_len_cmp: 64\n", "a.yaml");
  REQUIRE(config.switches.size() == 3);
  CHECK(config.switches[0].name + "=" + config.switches[0].value == "NSA_USE_FA2=0");
  CHECK(config.switches[1].name + "=" + config.switches[1].value == "NSA_FA2_MIN_LEN_WIN=-1");
  CHECK(config.switches[1].origin == "a.yaml:3: runtime.fa2_min_len_win");
  CHECK(config.switches[2].name + "=" + config.switches[2].value == "NSA_FA2_MIN_LEN_CMP=64");
  CHECK(contains(message_of("runtime:\n  fa2_min_len_win: long\n"), "users.yaml:2:"));
  CHECK(contains(message_of("runtime:\n  fa2_enabled: perhaps\n"), "users.yaml:2:"));
}

TEST_CASE("a config without a model is the 125M model", "[tuner]") {
  const UserConfig config = parse_user_config("runtime:\n  use_triton_sel: true\n", "a100.yaml");
  CHECK(config.problem.model == ModelShape{768, 12, 256});
  CHECK(config.problem.q_heads == 12);
  CHECK(config.problem.dtype == Dtype::fp32);
  CHECK(config.used.empty());
  CHECK(parse_user_config("model:\nruntime: {precision: bf16}\n", "a.yaml").problem.q_heads == 12);
}

TEST_CASE("a bad config is refused with its line", "[tuner]") {
  CHECK(contains(message_of("model:\n  dim: wide\n"), "users.yaml:2:"));
  CHECK(contains(message_of("model:\n  dim: wide\n"), "wide"));
  CHECK(contains(message_of("model:\n  n_heads: 13\n"), "users.yaml:2: model.n_heads"));
  CHECK(contains(message_of("model:\n  n_heads: 13\n"), "multiple"));
  CHECK(contains(message_of("nsa:\n  l: 32\n  n_sel: 2\n"), "users.yaml:3: nsa.n_sel"));
  CHECK(contains(message_of("model:\n  dim: 1\n  dim: 2\n"), "users.yaml:3:"));
  CHECK(contains(message_of("model: [1, 2\n"), "not valid YAML"));
  const std::string escape = message_of("model: {dim: \"\\\x1e\"}\n");
  CHECK(contains(escape, "not valid YAML"));
  CHECK(escape.find('\x1e') == escape.npos);  // it would reach a terminal
  CHECK(contains(message_of("runtime:\n  precision: fp4\n"), "users.yaml:2:"));
  CHECK(contains(message_of("train:\n  batch_size: 0\n"), "users.yaml:2:"));
  CHECK(contains(message_of("train:\n  seq_len: -5\n"), "users.yaml:2: train.seq_len"));
  CHECK(contains(message_of("model:\n  dim: 99999999999999999999\n"), "users.yaml:2:"));
  CHECK(contains(message_of("model:\n  dim: {a: b}\n"), "users.yaml:2:"));
  CHECK(contains(message_of("- a\n- b\n"), "users.yaml:1:"));
  CHECK(contains(message_of(""), "users.yaml:1:"));
  CHECK(contains(message_of(std::string(2u << 20, '#')), "1 MiB"));
  CHECK(contains(message_of("model:\n  dim: *a\n"), "users.yaml:2:"));
  CHECK(contains(message_of("a: " + std::string(100'000, '[')), "users.yaml"));
  CHECK(contains(message_of("model: 5\n"), "users.yaml:1: model"));
  CHECK(contains(message_of("data: 1\nnsa: [32, 16]\n"), "users.yaml:2: nsa"));
  CHECK(contains(message_of("model: {dim: 64}\n---\nmodel: {dim: 96}\n"), "users.yaml:3:"));
  const std::string nul = std::string("a: 1\nmodel:") + '\0' + " {dim: 64}\n";
  CHECK(contains(message_of(nul), "users.yaml:2: has a NUL"));
  CHECK(contains(message_of(", model: {dim: 64}\n"), "users.yaml:1:"));  // yaml-cpp: endless
}

TEST_CASE("nested anchors do not blow up", "[tuner]") {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 8; ++k) text += ", " + before;
    text += "]\n";
  }
  CHECK(parse_user_config(text, "users.yaml", true).notes.size() == 1);
}

TEST_CASE("where maps are merged, a short text does not stand for many values", "[tuner]") {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 5; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 8; ++k) text += ", " + before;
    text += "]\n";
  }
  text += "b: {<<: {c: 1}}\n";
  CHECK(contains(message_of(text), "aliases stand for more than " +
                                       std::to_string(10'000 + 8 * text.size()) + " values"));
}

TEST_CASE("a spec for a config has its shape and keeps its own lengths", "[tuner]") {
  SweepSpec spec;
  spec.families = {{"f", {}, {{"seq_len", {"64"}}, {"dtype", {"fp32"}}}, {}, {}, {}}};
  const auto config = parse_user_config(kConfig, "users.yaml");
  spec = with_user_config(std::move(spec), config);
  CHECK(spec.families[0].base.q_heads == 64);
  CHECK(spec.families[0].base.dtype == Dtype::bf16);
  REQUIRE(spec.families[0].axes.size() == 1);
  CHECK(spec.families[0].axes[0].first == "seq_len");
  CHECK(spec.families[0].base.model == ModelShape{});
}

TEST_CASE("prefill of a spec for a config has its batch, where the spec names none", "[tuner]") {
  const auto config = parse_user_config("train: {seq_len: 2048, batch_size: 3}\n", "users.yaml");
  Problem decode;
  decode.phase = Phase::decode;
  decode.seq_lens = {1};
  decode.context_lens = {511};
  SweepSpec spec;
  spec.families = {{"prefill", {}, {{"seq_len", {"64"}}}, {}, {}, {}},
                   {"batches", {}, {{"batch", {"1", "4"}}}, {}, {}, {}},
                   {"decode", decode, {}, {}, {}, {}}};
  spec = with_user_config(std::move(spec), config);
  CHECK(spec.families[0].base.batch() == 3);
  CHECK(spec.families[1].base.batch() == 1);
  CHECK(spec.families[1].axes.size() == 1);
  CHECK(spec.families[2].base.seq_lens == decode.seq_lens);
  CHECK(spec.families[2].base.context_lens == decode.context_lens);
}
