// The file of known changes: which series, between which commits, why, and until when.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nsa/nightly/judge.hpp"

namespace nsa::cli {

/// A YAML list of maps with `series`, `commits`, `reason` and `until`, no other keys and none left
/// out. InputError "<path>:<line>: ..." on anything else.
std::vector<nightly::Ack> load_acks(const std::string& path);

/// Adds an entry at the end; every byte that was there stays. A file that is not there is made.
/// InputError, and nothing is written, where the file has errors or is no list of one entry a line.
void append_ack(const std::string& path, const nightly::Ack& ack);

/// Takes out the entries of exactly these series and, where they are given, commits ("A..B"); every
/// other byte stays. How many there were; InputError, and nothing is written, where there was none,
/// the file has errors, or an entry shares a line with something else.
std::size_t remove_acks(const std::string& path, const std::string& series,
                        const std::optional<std::string>& commits);

/// "A..B" as the two commits of an ack; one of them may be empty. InputError on another form.
void set_commits(nightly::Ack& ack, const std::string& range, const std::string& where);

}  // namespace nsa::cli
