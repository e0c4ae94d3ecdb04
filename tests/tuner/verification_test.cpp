// Correctness before time, also when the worker cannot be trusted.
#include "catch.hpp"
#include "harness.hpp"
#include "pool/checks/verified.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::test;
using nsa::tuner::run_sweep;

namespace {

/// When outputs are verified: in their contest's turn, or before that of the first one.
enum class When { in_turn, ahead };

tuner::SweepInput input_for(const SweepSpec& spec, const std::string& mode, When when) {
  auto input = sweep_input(spec, {fake(mode)});
  return when == When::ahead ? in_crews(std::move(input)) : input;
}

std::vector<Measurement> rows_of(const std::string& mode, const Problem& problem = small_problem(),
                                 When when = When::in_turn) {
  SweepSpec spec = small_spec();
  spec.families[0].base = problem;
  spec.families[0].axes.clear();
  MemorySink sink;
  Notes notes;
  run_sweep(input_for(spec, mode, when), sink, notes);
  return sink.rows;
}

const std::vector<When> kBoth{When::in_turn, When::ahead};

}  // namespace

TEST_CASE("a worker whose rows are right is verified by the parent", "[tuner]") {
  Problem ragged = small_problem();
  ragged.seq_lens = {33, 1, 20};
  ragged.context_lens = {0, 0, 0};
  for (const auto& [problem, when] : {std::pair{small_problem(), When::in_turn},
                                      {ragged, When::in_turn},
                                      {ragged, When::ahead}}) {
    const auto rows = rows_of("honest", problem, when);
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
  const std::string mode = GENERATE("lie_rows", "poison", "no_output_file");
  for (const When when : kBoth) {
    INFO(mode << (when == When::ahead ? " ahead" : " in its turn"));
    std::size_t wrong = 0;
    for (const Measurement& row : rows_of(mode, small_problem(), when)) {
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
  const auto rows = rows_of("wants_peers", small_problem(), GENERATE(When::in_turn, When::ahead));
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
  const When when = GENERATE(When::in_turn, When::ahead);
  run_sweep(input_for(small_spec({"40", "50"}), "verifies_once", when), sink, notes);
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
  const When when = GENERATE(When::in_turn, When::ahead);
  run_sweep(input_for(small_spec({"40", "50"}), "wrong_once", when), sink, notes);
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
