#include "pool/checks/verified.hpp"

#include <fmt/format.h>

#include <bit>

#include "nsa/tuner/wrong_elsewhere.hpp"
#include "plan/contest_id.hpp"

namespace nsa::tuner {
namespace {

constexpr std::int64_t kTile = 128;  // a multiple of all tiles in use
constexpr int kBucketBits = 4;       // a bucket of lengths is a factor of 16 wide

std::string key_of(const Candidate& candidate, const std::string& problems) {
  return fmt::format("{}@{}@{}@{}", candidate.executor, to_string(candidate.id),
                     candidate.source_hash, problems);
}

Candidate candidate_of(const Measurement& row) {
  return {row.variant, row.source_hash, row.executor, 0};
}

}  // namespace

std::string verification_kind(const Problem& problem) {
  const std::int64_t length = problem.max_kv_len();
  const auto bucket = (std::bit_width(static_cast<std::uint64_t>(length)) - 1) / kBucketBits;
  return fmt::format("{} {} {}", class_text(problem), length % kTile == 0 ? "tiles" : "rest",
                     bucket);
}

std::string Verified::key(const Candidate& candidate, const Problem& problem) {
  return key_of(candidate, verification_kind(problem));
}

void Verified::restore(const Measurement& row) {
  if (row.verification == Verification::verified)
    add(candidate_of(row), row.problem, row.worst_row_error);
  if (row.verification == Verification::wrong_result && !is_wrong_elsewhere(row))
    add_wrong(candidate_of(row), row.problem, row.reason);
}

void Verified::add(const Candidate& candidate, const Problem& problem,
                   std::optional<double> worst_row_error) {
  right_.try_emplace(key(candidate, problem), Right{worst_row_error});
}

void Verified::add_wrong(const Candidate& candidate, const Problem& problem,
                         const std::string& reason) {
  wrong_.try_emplace(key_of(candidate, class_text(problem)), Wrong{problem.max_kv_len(), reason});
}

bool Verified::compared(const Candidate& candidate, const Problem& problem) const {
  return compared_.contains(key(candidate, problem));
}

void Verified::add_compared(const Candidate& candidate, const Problem& problem) {
  compared_.insert(key(candidate, problem));
}

const Verified::Right* Verified::find(const Candidate& candidate, const Problem& problem) const {
  const auto found = right_.find(key(candidate, problem));
  return found == right_.end() ? nullptr : &found->second;
}

const Verified::Wrong* Verified::find_wrong(const Candidate& candidate,
                                            const Problem& problem) const {
  const auto found = wrong_.find(key_of(candidate, class_text(problem)));
  return found == wrong_.end() ? nullptr : &found->second;
}

}  // namespace nsa::tuner
