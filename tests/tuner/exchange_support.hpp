// What the tests of foreign formats share: rows that use every field, and a way there and back.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nsa/exchange/exchange.hpp"

namespace nsa::test {

/// Rows of two devices, several runs, rounds and variants, with and without samples: `seed`
/// decides their numbers. Device times are below 15.6 ms, which every format holds exactly.
exchange::Results some_results(std::uint64_t seed, bool one_device);

/// Reads what `format` writes of the results.
exchange::Imported there_and_back(const exchange::Format& format, const exchange::Results& results);
exchange::Imported read_bundle(const exchange::Format& format, const exchange::Bundle& bundle,
                               const exchange::Mapping& mapping = {});
exchange::Imported read_text(const std::string& format, const std::string& text,
                             const exchange::Mapping& mapping = {});

/// Compact JSON of the rows, samples and median included, sorted: order is no part of a file.
std::vector<std::string> texts_of(const std::vector<Measurement>& rows);
/// Of the runs with environment, devices and libraries, in their order.
std::vector<std::string> texts_of(const std::vector<exchange::RunHead>& heads);

/// $NSATUNE_EXTERNAL_DATA/nsa_vibe/<name>: one of the users' own files. Nothing, and a warning that
/// says why, where it is not there.
std::optional<std::string> users_file(const std::string& name);
/// Files in the users' forms with invented numbers, for every machine.
const std::map<std::string, std::string>& made_up_files();

}  // namespace nsa::test
