// How fast links between host and GPUs are expected to be, from a file that users edit.
#pragma once

#include <optional>
#include <string>

#include "nsa/probes/links.hpp"

namespace nsa::cli {

/// A band of rates, as shares of what the link can do in one direction.
struct ShareBand {
  double low = 0, high = 1;
};

/// Below `low` something is wrong with the link or its use; `high` is what good programs reach.
struct LinkTargets {
  ShareBand pcie{0.75, 0.95};  // of large copies from and to pinned memory; an H200: .85 both ways
  ShareBand nvlink{0.60, 0.95};  // of collectives, by nccl-tests' bus bandwidth
};

/// {"schema_version": 1, "pcie_share": [0.75, 0.95], "nvlink_share": [0.6, 0.95]}; a list that is
/// missing keeps its default. InputError names the file and what is wrong.
LinkTargets read_link_targets(const std::string& path);
std::string link_targets_text(const LinkTargets& targets);

/// GB/s of both ends of a band; absent where the link is not known.
std::optional<ShareBand> pcie_band(const probes::DeviceLinks& links, const LinkTargets& targets);
std::optional<ShareBand> nvlink_band(const probes::DeviceLinks& links, const LinkTargets& targets);

}  // namespace nsa::cli
