// What is behind the fingerprints of environments on the page.
#pragma once

#include <optional>
#include <string>

#include "nsa/schemas/json.hpp"
#include "nsa/store/store.hpp"

namespace nsa::cli {

/// {fingerprint: {fact: value}} of all runs, or of those on one device.
Json environments_json(const store::Store& db, const std::optional<std::string>& device_id);

}  // namespace nsa::cli
