#include "link_targets.hpp"

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::cli {
namespace {

ShareBand read_band(const std::string& path, const Json& document, const char* key,
                    ShareBand otherwise) {
  if (!document.contains(key)) return otherwise;
  const Json& pair = document[key];
  const bool two =
      pair.is_array() && pair.size() == 2 && pair[0].is_number() && pair[1].is_number();
  const ShareBand band =
      two ? ShareBand{pair[0].get<double>(), pair[1].get<double>()} : ShareBand{};
  if (!two || !(band.low > 0 && band.low <= band.high && band.high <= 1))
    throw InputError(path + ": " + key + " is [low, high], two shares above 0, 1 at most");
  return band;
}

std::optional<ShareBand> times(std::optional<double> gb_per_s, const ShareBand& share) {
  if (!gb_per_s) return {};
  return ShareBand{*gb_per_s * share.low, *gb_per_s * share.high};
}

}  // namespace

LinkTargets read_link_targets(const std::string& path) {
  const Json document = parse_json(read_text_file(path), path);
  const auto version = document.find("schema_version");
  if (!document.is_object() || version == document.end() || *version != 1)
    throw InputError(path +
                     ": not link targets of schema_version 1; devices --print-link-targets "
                     "prints some");
  for (const auto& [key, value] : document.items())
    if (key != "schema_version" && key != "pcie_share" && key != "nvlink_share")
      throw InputError(path + ": " + key +
                       " is not a link target; there are pcie_share and nvlink_share");
  const LinkTargets otherwise;
  return {read_band(path, document, "pcie_share", otherwise.pcie),
          read_band(path, document, "nvlink_share", otherwise.nvlink)};
}

std::string link_targets_text(const LinkTargets& targets) {
  const Json document{{"schema_version", 1},
                      {"pcie_share", {targets.pcie.low, targets.pcie.high}},
                      {"nvlink_share", {targets.nvlink.low, targets.nvlink.high}}};
  return document.dump(2) + "\n";
}

std::optional<ShareBand> pcie_band(const probes::DeviceLinks& links, const LinkTargets& targets) {
  // What both ends can do: an idle GPU has lowered the generation of the link.
  if (!links.pcie_max_generation || !links.pcie_width) return {};
  return times(probes::pcie_gb_per_s(*links.pcie_max_generation, *links.pcie_width), targets.pcie);
}

std::optional<ShareBand> nvlink_band(const probes::DeviceLinks& links, const LinkTargets& targets) {
  return times(links.nvlink_gb_per_s, targets.nvlink);
}

}  // namespace nsa::cli
