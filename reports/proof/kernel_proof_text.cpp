#include <fmt/format.h>

#include "nsa/reports/kernel_proof.hpp"
#include "nsa/reports/text_table.hpp"

namespace nsa::reports {
namespace {

Json kernels_json(const std::map<std::string, std::int64_t>& kernels) {
  Json list = Json::array();
  for (const auto& [name, count] : kernels) list.push_back({{"name", name}, {"count", count}});
  return list;
}

}  // namespace

Json kernel_proof_json(const KernelProof& proof) {
  Json rows = Json::array();
  for (const RowProof& row : proof.rows) {
    Json one{{"stage", row.stages},
             {"variant", row.variant},
             {"holds", row.mismatch.empty()},
             {"kernels", kernels_json(row.kernels)}};
    if (!row.mismatch.empty()) one["reason"] = row.mismatch;
    rows.push_back(std::move(one));
  }
  return {{"holds", proof.holds()}, {"rows", rows}, {"others", kernels_json(proof.others)}};
}

std::string kernel_proof_text(const Json& proof) {
  std::string mismatches;
  std::size_t held = 0;
  for (const Json& row : proof.at("rows")) {
    held += row.at("holds").get<bool>();
    if (row.at("holds")) continue;
    mismatches += "    MISMATCH: " +
                  printable(fmt::format("{}/{} {}", row.at("stage").get<std::string>(),
                                        row.at("variant").get<std::string>(),
                                        row.at("reason").get<std::string>())) +
                  "\n";
  }
  return fmt::format("  by the kernels that CUPTI saw, {} of {} rows ran as said\n", held,
                     proof.at("rows").size()) +
         mismatches;
}

}  // namespace nsa::reports
