// The users' own files, as they are, where they are; and files in the same forms everywhere.
#include <algorithm>

#include "catch.hpp"
#include "exchange_support.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::exchange {
namespace {

/// Nothing where the file is not there; the warning has said so.
std::optional<Imported> users(const std::string& name) {
  const auto text = test::users_file(name);
  if (!text) return std::nullopt;
  return test::read_text("nsa_vibe", *text);
}

Imported made_up(const std::string& name) {
  return test::read_text("nsa_vibe", test::made_up_files().at(name));
}

bool has_note(const Imported& imported, const std::string& words) {
  return std::any_of(imported.notes.begin(), imported.notes.end(), [&](const std::string& note) {
    return note.find(words) != std::string::npos;
  });
}

TEST_CASE("each form of the users' files is read", "[exchange]") {
  const Imported decode = made_up("decode.csv");
  REQUIRE(decode.rows.size() == 8);
  CHECK(to_string(decode.rows[5].variant) == "attention/decode_only_cmp");
  CHECK(decode.rows[5].problem.context_lens == std::vector<std::int64_t>{96});
  CHECK(decode.rows[5].median_ns == 1'500'000);
  const Imported selection = made_up("selection.csv");
  REQUIRE(selection.rows.size() == 4);
  CHECK(to_string(selection.rows[0].variant) == "attend_selected/triton_dense");
  CHECK(selection.rows[0].problem.batch() == 8);
  CHECK(selection.rows[1].median_ns == 250'000);
  CHECK(selection.rows[3].outcome == Outcome::crashed);
  CHECK(selection.rows[3].reason == "SOME_CRASH");
  const Imported guard = made_up("guard.json");
  REQUIRE(guard.rows.size() == 2);
  CHECK(guard.rows[0].median_ns == 1'500'000);
  CHECK(guard.rows[1].outcome == Outcome::bad_reply);
}

TEST_CASE("a step with forced gates is no attention that may be chosen", "[exchange]") {
  const Imported decode = made_up("decode.csv");
  CHECK(decode.rows[4].verification == Verification::unverified);
  for (const std::size_t forced : {5, 6, 7}) {
    const Measurement& row = decode.rows[forced];
    CAPTURE(to_string(row.variant));
    CHECK(row.outcome == Outcome::ok);
    CHECK(row.verification == Verification::wrong_result);
    CHECK(row.reason.starts_with("the gates are forced to the "));
  }
}

TEST_CASE("what is no result file of theirs is refused as none", "[exchange]") {
  for (const char* text : {"model:\n  dim: 768\n  heads: [1, 2]\n", "\"a\nb,c\n", "a,b\n1\n", ""}) {
    CAPTURE(text);
    try {
      test::read_text("nsa_vibe", text);
      FAIL("it was taken");
    } catch (const InputError& error) {
      CHECK(std::string(error.what()).starts_with("file: is not a known result file of nsa-vibe"));
    }
  }
}

TEST_CASE("each form of an FA-2 benchmark is read", "[exchange]") {
  const Imported window = made_up("window.txt");
  REQUIRE(window.rows.size() == 4);
  CHECK(to_string(window.rows[3].variant) == "attend_window/fa2");
  CHECK(window.rows[3].problem.geometry.window == 96);
  CHECK(window.rows[3].median_ns == 2'000'000);
  CHECK(has_note(window, "some.Error"));
  const Imported compressed = made_up("compressed.txt");
  REQUIRE(compressed.rows.size() == 2);
  CHECK(compressed.rows[0].problem.geometry.cmp_block == 16);
  const Imported report = made_up("report.md");
  REQUIRE(report.rows.size() == 2);
  CHECK(report.rows[1].median_ns == 2'500'000);
  CHECK(has_note(report, "fa2_min_len_cmp = 48 compressed tokens"));
}

TEST_CASE("decode steps are rows of whole attention, one for each forced branch", "[exchange]") {
  const auto found = users("decode.csv");
  if (!found) return;
  const Imported& all = *found;
  REQUIRE(all.rows.size() == 16);
  const Measurement& row = all.rows[1];
  CHECK(to_string(row.variant) == "attention/decode_only_cmp");
  CHECK(row.problem.phase == Phase::decode);
  CHECK(row.problem.context_lens == std::vector<std::int64_t>{128});
  CHECK(row.median_ns == 971'000);
  CHECK(row.executor == "nsa-vibe");
  CHECK(row.note.find("reads 1159 tokens, expected 1193") != std::string::npos);
  CHECK(all.devices.at(0).name == "unknown");
}

TEST_CASE("a crashed selection benchmark is rows that crashed, with the reason", "[exchange]") {
  const auto found = users("varlen_results.csv");
  if (!found) return;
  const Imported& all = *found;
  REQUIRE(all.rows.size() == 8);
  for (const Measurement& row : all.rows) {
    CHECK(row.outcome == Outcome::crashed);
    CHECK(row.reason == "MLIR_CRASH");
    CHECK(row.samples.empty());
  }
}

TEST_CASE("a selection benchmark is rows that decode with all keys selected", "[exchange]") {
  const auto found = users("dense_final_detailed.csv");
  if (!found) return;
  const Imported& all = *found;
  REQUIRE(all.rows.size() == 52);
  const Measurement& triton = all.rows[6];
  CHECK(to_string(triton.variant) == "attend_selected/triton_dense");
  CHECK(triton.problem.batch() == 256);
  CHECK(triton.problem.max_kv_len() == 512);
  CHECK(triton.problem.geometry.sel_count * triton.problem.geometry.sel_block >= 512);
  CHECK(triton.median_ns == 74'800);
  CHECK(triton.verification == Verification::unverified);
  CHECK(triton.note.find("1.474645e-01") != std::string::npos);
  CHECK(all.rows[7].median_ns == 18'400);
}

TEST_CASE("FA-2 logs are pairs, up to where the benchmark ended", "[exchange]") {
  const auto found_window = users("fa2_win.txt"), found_compressed = users("fa2_cmp.txt");
  if (!found_window || !found_compressed) return;
  const Imported &window = *found_window, &compressed = *found_compressed;
  REQUIRE(window.rows.size() == 6);
  CHECK(to_string(window.rows[5].variant) == "attend_window/fa2");
  CHECK(window.rows[5].problem.seq_lens[0] == 512);
  CHECK(window.rows[5].problem.geometry.window == 512);
  CHECK(window.rows[5].median_ns == 209'460'000);
  CHECK(has_note(window, "OutOfMemoryError"));
  REQUIRE(compressed.rows.size() == 8);
  CHECK(compressed.rows[0].variant.stages[0] == "attend_compressed");
  CHECK(compressed.rows[0].problem.geometry.cmp_block == 32);
  CHECK(compressed.rows[0].problem.geometry.cmp_stride == 16);
}

TEST_CASE("a report's table is rows, and its advice a note with its unit", "[exchange]") {
  const auto found = users("fa2_thresholds.md");
  if (!found) return;
  const Imported& all = *found;
  REQUIRE(all.rows.size() == 6);
  CHECK(all.rows[0].median_ns == 1'020'000);
  CHECK(has_note(all, "fa2_min_len_cmp = 32 compressed tokens"));
  CHECK(has_note(all, "fa2_min_len_win = 512 tokens"));
}

TEST_CASE("a decode guard of zeros has rows without a time", "[exchange]") {
  const auto found = users("a100_decode_guard.json");
  if (!found) return;
  const Imported& all = *found;
  REQUIRE(all.rows.size() == 2);
  for (const Measurement& row : all.rows) {
    CHECK(row.outcome == Outcome::bad_reply);
    CHECK(row.samples.empty());
  }
}

TEST_CASE("a device that the user names is the device", "[exchange]") {
  Mapping mapping;
  mapping.device = "NVIDIA A100";
  const Imported all = test::read_text("nsa_vibe", test::made_up_files().at("decode.csv"), mapping);
  CHECK(all.devices.at(0).name == "NVIDIA A100");
  CHECK(all.rows[0].placement[0].device_uuid == all.devices[0].uuid);
}

}  // namespace
}  // namespace nsa::exchange
