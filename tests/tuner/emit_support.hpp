// What the tests of emitted settings share: an env file is made, read back, and compared with what
// was decided.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decide_support.hpp"
#include "emit/settle.hpp"
#include "nsa/tuner/emit.hpp"

namespace emitting {

using namespace nsa;
using namespace nsa::tuner;
using sim::Session;
using sim::Truth;

const Project& vibe();

/// A problem of a class with so many new (or, in a decode step, cached) tokens.
Problem problem_at(const ProblemClass& of, std::int64_t length);

struct Emitted {
  Emission emission;
  Settlement settled;
  ProblemClass of;
  Device device;
};
std::optional<Emitted> emitted(const DecideInput& input, const ProblemClass& of,
                               const std::optional<Problem>& longest = {});
Emitted emitted_of(const std::vector<Session>& sessions);
/// Checks every settled stage at every length; how many choices were compared.
std::size_t check_read_back(const Emitted& e);

/// The sweep that the shipped thresholds were decided from.
DecideInput recorded();
/// A class of bf16 on a GPU, decided from sessions of single stages.
DecideInput made_up(const std::vector<Session>& sessions, std::int64_t head_dim_v = 64,
                    const std::string& executor = "nsatune");

using Times = std::vector<std::pair<std::string, Truth>>;
Session session(const std::string& stage, Times times);
Truth constant(double ns);
Truth better_from(double length);

}  // namespace emitting
