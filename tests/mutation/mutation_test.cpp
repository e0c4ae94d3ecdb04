// The gate that a variant passes before its time counts, against variants with one planted fault
// each. What is run is the product's own code: the worker's verify() and the parent's OutputCheck.
#include <algorithm>
#include <array>

#include "catch.hpp"
#include "changed_launch.hpp"
#include "mutant.hpp"
#include "nsa/kernels/directions.hpp"
#include "pool/checks/output_check.hpp"
#include "pool/workers/scratch_folder.hpp"
#include "worker/verify.hpp"

namespace nsa::test {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::int64_t kRowsAsked = 8;  // of the preset `quick`
// So little that the oracle takes 16 rows of its own choice: what a slow machine does to long
// problems. The faults have to be found all the same.
constexpr double kBudgetS = 0;

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> all;
  for (const auto& some :
       {attention_mutants(), arithmetic_mutants(), output_mutants(), stage_mutants(),
        saving_mutants(), backward_mutants(), both_passes_mutants()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

Variant mutated(const Variant& right, void (*launch)(const LaunchArgs&)) {
  Variant variant = right;
  variant.name = "mutant";
  variant.source_hash = "of the mutant";
  variant.launch = launch;
  return variant;
}

/// The other CPU rows of the stage: who else is measured in the same contest.
std::vector<const Variant*> contest_of(const Variant& variant, const Problem& problem) {
  std::vector<const Variant*> rows;
  for (const Variant& row : catalog()) {
    if (row.backend == Backend::cpu && std::ranges::equal(row.stages, variant.stages) &&
        row.role == Role::candidate && supports(row, problem, Device{}).supported)
      rows.push_back(&row);
  }
  return rows;
}

/// Prepares all as the worker does, and passes the first through the gate.
tuner::CheckResult gate(const Variant& variant, const Problem& problem,
                        const std::vector<const Variant*>& peers) {
  const auto memory = tuner::make_host_memory();
  const auto inputs =
      std::make_shared<tuner::Inputs>(plan_inputs(variant.stages, problem, kSeed), *memory);
  std::vector<std::unique_ptr<tuner::Handle>> handles;
  std::vector<tuner::Handle*> others;
  const auto prepare = [&](const Variant& row) {
    handles.push_back(std::make_unique<tuner::Handle>(row, ids_of(row).front().point, problem,
                                                      inputs, *memory, built_in_router()));
    handles.back()->launch();
    return handles.back().get();
  };
  const tuner::ScratchFolder folder;
  tuner::OutputCheck check(ids_of(variant).front().stages, problem, kSeed, kRowsAsked,
                           folder.path());
  asked_rows() = check.rows();
  tuner::Handle* handle = prepare(variant);
  for (const Variant* row : peers) others.push_back(prepare(*row));
  const worker::VerifyRequest request = check.request(0);
  const auto said = tuner::verify(*handle, request, Device{}, others, kBudgetS);
  return check.check(request.outputs, &variant, said);
}

}  // namespace

TEST_CASE("every planted fault is caught before a time is taken", "[mutation]") {
  for (const Mutant& mutant : all_mutants()) {
    INFO(mutant.name << ", made from " << to_string(mutant.stage) << "/" << mutant.right);
    const Problem problem = mutant.problem();
    const Variant variant =
        mutated(cpu_row(mutant.stage, mutant.right, problem.direction), mutant.launch);
    const auto result = gate(variant, problem, contest_of(variant, problem));
    CHECK(result.verification == Verification::wrong_result);
    CHECK_FALSE(result.reason.empty());
  }
}

TEST_CASE("the rows that the mutants were made from pass the gate, whoever stands beside them",
          "[mutation]") {
  for (const Mutant& mutant : all_mutants()) {
    const Variant& right = cpu_row(mutant.stage, mutant.right, mutant.problem().direction);
    const Variant variant = mutated(right, mutant.launch);
    INFO(right.name << " beside a mutant with " << mutant.name);
    const auto result = gate(right, mutant.problem(), {&variant});
    INFO(result.reason);
    CHECK(result.verification == Verification::verified);
  }
}

TEST_CASE("every CPU row of the table passes the gate in every dtype", "[mutation]") {
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  Problem problem = ragged_problem();
  problem.dtype = dtype;
  problem.model.layers = 2;
  problem.model.vocab_size = 11;
  problem.direction =
      GENERATE(Direction::forward, kForwardSaving, Direction::backward, kForwardBackward);
  std::size_t passed = 0;
  for (const Variant& row : catalog()) {
    if (row.backend != Backend::cpu || !supports(row, problem, Device{}).supported) continue;
    const auto result = gate(row, problem, contest_of(row, problem));
    INFO(to_string(ids_of(row).front()) << " " << to_string(dtype) << ": " << result.reason);
    CHECK(result.verification == Verification::verified);
    ++passed;
  }
  CHECK(passed > (problem.direction == kForwardBackward      ? 9
                  : problem.direction == Direction::backward ? 8
                                                             : 20));
}

TEST_CASE("code that was written out to be mutated passes the gate without the fault",
          "[mutation]") {
  const Problem problem = ragged_problem();
  for (const auto& [stage, name, launch] :
       {std::tuple{Stage::attend_window, "sdpa_math", &written_out_window},
        std::tuple{Stage::score, "streamed", &written_out_score}}) {
    const Variant variant = mutated(cpu_row(stage, name), launch);
    const auto result = gate(variant, problem, contest_of(variant, problem));
    INFO(to_string(stage) << ": " << result.reason);
    CHECK(result.verification == Verification::verified);
  }
}

void one_wrong_row_of_attention(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::attention, "batched");
  scale(args.out[0], 1.5, 101);
}

TEST_CASE("a fault that two plans of a composite share is caught by a third", "[mutation]") {
  const Problem problem = ragged_problem();
  const Variant& right = cpu_row(Stage::attention, "batched");
  Variant wrong = mutated(right, one_wrong_row_of_attention);
  wrong.source_hash = right.source_hash;
  Variant equal = wrong;
  equal.name = "another plan with the same fault";
  const auto result = gate(wrong, problem, {&equal, &right});
  CHECK(result.verification == Verification::wrong_result);
}

constexpr std::array kTwoStages{Stage::attend_compressed, Stage::score};

void own_block_forgotten(const LaunchArgs& args) {
  find_variant(kTwoStages, "fused", Backend::cpu)->launch(args);
  const TensorView& blocks = output_of(args, "blocks");
  for (std::int64_t row = 0; row < blocks.shape[0]; ++row) {
    blocks.as<std::int32_t>()[blocks.at(row, 0, blocks.shape[2] - 1)] = -1;
  }
}

TEST_CASE("a fault in the second output of a row over two stages is caught", "[mutation]") {
  const Variant* right = find_variant(kTwoStages, "fused", Backend::cpu);
  REQUIRE(right != nullptr);
  const auto result = gate(mutated(*right, own_block_forgotten), ragged_problem(), {});
  CHECK(result.verification == Verification::wrong_result);
}

void one_wrong_row(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::attend_window, "sdpa_math");
  scale(args.out[0], 1.5, 101);
}

TEST_CASE("a variant without peers is compared in every row that one before it was compared in",
          "[mutation]") {
  const Problem problem = ragged_problem();
  const Variant& right = cpu_row(Stage::attend_window, "sdpa_math");
  const Variant wrong = mutated(right, one_wrong_row);
  const auto memory = tuner::make_host_memory();
  const auto inputs =
      std::make_shared<tuner::Inputs>(plan_inputs(right.stages, problem, kSeed), *memory);
  const tuner::ScratchFolder folder;
  const auto worst_error = [&](const Variant& variant, double budget_s) {
    tuner::Handle handle(variant, {}, problem, inputs, *memory, built_in_router());
    handle.launch();
    worker::VerifyRequest request;
    request.outputs = folder.path() + "/outputs.safetensors";
    return tuner::verify(handle, request, Device{}, {}, budget_s).worst_row_error.value();
  };
  CHECK(worst_error(wrong, 0) < 0.1);  // rows in the middle of nowhere are not looked at
  CHECK(worst_error(right, 100) < 0.1);
  CHECK(worst_error(wrong, 0) > 0.4);
}

TEST_CASE("there are 20 mutants of each direction or more, each with a name of its own",
          "[mutation]") {
  std::vector<std::string> names;
  for (const Mutant& mutant : all_mutants()) names.emplace_back(mutant.name);
  std::sort(names.begin(), names.end());
  CHECK(names.size() - backward_mutants().size() >= 20);
  CHECK(backward_mutants().size() >= 20);
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

// What the gate cannot see. The test is here so that the limit is known, and goes when it does. The
// same holds for one wrong row of a stage that has a single variant, on long problems, and for what
// happens in one launch of many.
TEST_CASE("not caught: one wrong row that all variants of a contest share, where no oracle looks",
          "[mutation]") {
  const auto all = output_mutants();
  const auto mutant = std::find_if(all.begin(), all.end(), [](const Mutant& m) {
    return std::string_view(m.name) == "one wrong row in 65,536";
  });
  REQUIRE(mutant != all.end());
  const Variant variant = mutated(cpu_row(mutant->stage, mutant->right), mutant->launch);
  Variant other = variant;
  other.name = "another with the same fault";
  const auto result = gate(variant, mutant->problem(), {&other});
  CHECK(result.verification == Verification::verified);
}

}  // namespace nsa::test
