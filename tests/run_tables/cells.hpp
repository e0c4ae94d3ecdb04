// Cells with known times.
#pragma once

#include <string>
#include <vector>

#include "nsa/run_tables/cell.hpp"

namespace nsa::test {

/// A cell of 512 tokens whose processes took so many ms a step.
inline run_tables::Cell cell_of(const std::string& label, const std::vector<double>& ms) {
  run_tables::Cell cell{
      .asked = {label, 512, 1, {}, {}}, .reason = "", .process_ns = {}, .ran = {}};
  cell.tokens_per_step = 512;
  if (!ms.empty()) cell.status = run_tables::Status::ok;
  for (const double one : ms) cell.process_ns.emplace_back(one * 1e6);
  return cell;
}

}  // namespace nsa::test
