// How text for a terminal may look.
#pragma once

#include <cstddef>

namespace nsa::reports {

struct Style {
  bool color = false;       // ANSI colours; only when the caller knows that a person is looking
  std::size_t columns = 0;  // tables are no wider than that; 0: as wide as their cells
};

}  // namespace nsa::reports
