// The files of reports/page/assets, as they are in the program.
#pragma once

#include <span>
#include <string_view>

namespace nsa::page {

struct Asset {
  std::string_view name;  // "page.css", "specs/series.json"
  std::string_view text;
};

/// Sorted by name.
std::span<const Asset> assets() noexcept;

}  // namespace nsa::page
