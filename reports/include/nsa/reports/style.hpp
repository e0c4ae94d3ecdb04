// How text for a terminal may look.
#pragma once

namespace nsa::reports {

struct Style {
  bool color = false;  // ANSI colours; only when the caller knows that a person is looking
};

}  // namespace nsa::reports
