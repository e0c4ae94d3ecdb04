// Rows of a run that measured the same problems by several variants.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "nsa/schemas/measurement.hpp"
#include "nsa/store/store.hpp"

namespace nsa::cli {

using Round = std::pair<std::int64_t, std::int64_t>;  // process, round
using Times = std::map<Round, double>;                // ns

/// A variant at one length.
struct Place {
  Times times;
  Cost cost;
  std::optional<std::int64_t> workspace_bytes;
};
using AtLengths = std::map<std::int64_t, Place>;    // by axis value, tokens
using Variants = std::map<std::string, AtLengths>;  // by name
using ContestKey =
    std::tuple<std::string, std::string, std::string>;  // stages, class, how measured

struct Contest {
  ProblemClass of;
  std::vector<std::string> stages;
  Axis axis = Axis::seq_len;
  bool cold = true;
  Variants variants;
};
using Contests = std::map<ContestKey, Contest>;

/// Of rows that can be compared: verified or not, but neither wrong nor controls, nor of batches of
/// uneven lengths.
Contests read_contests(const store::Store& db, const std::string& run,
                       const std::string& device_uuid);
/// Name of a variant and who ran it, where that was not this program.
std::string name_of(const VariantId& variant, const std::string& executor);
/// In ns; at least one.
double median_of(const Times& times);
/// The fastest variant at each length.
std::map<std::int64_t, const Times*> best_at(const Variants& variants);

}  // namespace nsa::cli
