// Correctness before time, also when the worker cannot be trusted.
#include "catch.hpp"
#include "harness.hpp"
#include "pool/checks/verified.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::test;
using nsa::tuner::run_sweep;

namespace {

std::vector<Measurement> rows_of(const std::string& mode,
                                 const Problem& problem = small_problem()) {
  SweepSpec spec = small_spec();
  spec.families[0].base = problem;
  spec.families[0].axes.clear();
  MemorySink sink;
  Notes notes;
  run_sweep(sweep_input(spec, {fake(mode)}), sink, notes);
  return sink.rows;
}

}  // namespace

TEST_CASE("a worker whose rows are right is verified by the parent", "[tuner]") {
  Problem ragged = small_problem();
  ragged.seq_lens = {33, 1, 20};
  ragged.context_lens = {0, 0, 0};
  for (const Problem& problem : {small_problem(), ragged}) {
    const auto rows = rows_of("honest", problem);
    CHECK(rows.size() == 16);
    for (const Measurement& row : rows) {
      CHECK(row.outcome == Outcome::ok);
      CHECK(row.verification == Verification::verified);
      REQUIRE(row.worst_row_error.has_value());
      CHECK(*row.worst_row_error < 1e-6);
    }
  }
}

TEST_CASE("a worker that lies in one element of one row is found out and not timed", "[tuner]") {
  for (const char* mode : {"lie_rows", "poison", "no_output_file"}) {
    INFO(mode);
    std::size_t wrong = 0;
    for (const Measurement& row : rows_of(mode)) {
      if (row.variant.name != "bad") {
        CHECK(row.verification == Verification::verified);
        continue;
      }
      ++wrong;
      INFO(row.reason);
      CHECK(row.verification == Verification::wrong_result);
      CHECK(row.outcome == Outcome::ok);
      CHECK(row.samples.empty());
      CHECK_FALSE(row.reason.empty());
    }
    CHECK(wrong == 1);
  }
}

TEST_CASE("all are prepared before the first is verified, so that a worker can compare them",
          "[tuner]") {
  const auto rows = rows_of("wants_peers");
  CHECK(rows.size() == 16);
  for (const Measurement& row : rows) CHECK(row.verification == Verification::verified);
}

TEST_CASE("a variant is verified once for each class, remainder of a tile and bucket of lengths",
          "[tuner]") {
  using tuner::verification_kind;
  const auto kind = [](std::int64_t length) { return verification_kind(small_problem(length)); };
  CHECK(kind(40) == kind(200));    // a bucket is a factor of 16 wide
  CHECK(kind(256) == kind(3968));  // multiples of a tile
  CHECK(kind(256) != kind(257));   // what is left of a tile
  CHECK(kind(255) != kind(257));   // another bucket
  CHECK(kind(4096) != kind(65536));
  Problem other = small_problem(40);
  other.dtype = Dtype::bf16;
  CHECK(verification_kind(other) != kind(40));

  MemorySink sink;
  Notes notes;
  run_sweep(sweep_input(small_spec({"40", "50"}), {fake("verifies_once")}), sink, notes);
  CHECK(sink.rows.size() == 2 * 16);
  for (const Measurement& row : sink.rows) {
    INFO(row.reason);
    CHECK(row.outcome == Outcome::ok);
    CHECK(row.verification == Verification::verified);
    CHECK(row.worst_row_error.has_value());
  }
}

TEST_CASE("what was verified before a stop is not verified again, and what was not is", "[tuner]") {
  auto input = sweep_input(small_spec({"40", "50"}), {fake("honest")});
  MemorySink sink;
  Notes notes;
  run_sweep(input, sink, notes);
  for (const Measurement& row : sink.rows) {
    if (row.problem.max_seq_len() == 40) input.earlier.push_back(row);
  }
  REQUIRE(input.earlier.size() == 16);
  input.workers = {fake("no_output_file")};  // nothing of `bad` would be right
  MemorySink resumed, unverified;
  run_sweep(input, resumed, notes);
  CHECK(resumed.rows.size() == 16);
  for (const Measurement& row : resumed.rows) CHECK(row.verification == Verification::verified);
  for (Measurement& row : input.earlier) row.verification = Verification::unverified;
  run_sweep(input, unverified, notes);
  for (const Measurement& row : unverified.of("bad"))
    CHECK(row.verification == Verification::wrong_result);
}

TEST_CASE("a variant that was wrong once is out of all contests of that class", "[tuner]") {
  MemorySink sink;
  Notes notes;
  run_sweep(sweep_input(small_spec({"40", "50"}), {fake("wrong_once")}), sink, notes);
  const auto bad = sink.of("bad");
  REQUIRE(bad.size() == 2);
  for (const Measurement& row : bad) CHECK(row.verification == Verification::wrong_result);
  CHECK(contains(bad[1].reason, "wrong on a problem of this class with 40 tokens"));
}

TEST_CASE("a worker without the generator gets its inputs as a file", "[tuner]") {
  const auto rows = rows_of("needs_inputs");
  CHECK(rows.size() == 16);
  for (const Measurement& row : rows) CHECK(row.outcome == Outcome::ok);
}
