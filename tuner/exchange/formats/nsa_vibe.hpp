// The users' own files: what their readers share.
#pragma once

#include "csv.hpp"
#include "foreign.hpp"

namespace nsa::exchange {

const RecordSource& nsa_vibe_source();
/// Adds the row of a record, on the file's device. InputError where the problem is none.
void add_row(Imported& imported, const Record& record, const VariantId& variant,
             const Problem& problem, const Input& input);
/// A number of tokens. InputError otherwise.
std::int64_t length_of(double value, const std::string& where);

/// `S,ms_total,ms_cmp,ms_sel,ms_win,...`: ms of a decode step after S tokens.
Imported read_nsa_vibe_decode(const CsvTable& table, const Input& input);
/// `mode,N,H,D,Dv,L,...,tri_ms,ref_ms,speedup,mae,status`: selected attention of N rows.
Imported read_nsa_vibe_selection(const CsvTable& table, const Input& input);
/// Lines `S=64 w=96 sliding masked 1.50 ms  fa2 2.50 ms ...` of the FA-2 benchmark.
Imported read_nsa_vibe_log(const Input& input);
/// The Markdown report of the same, with the thresholds that it recommends.
Imported read_nsa_vibe_report(const Input& input);
/// `{"512": 1.2, ...}`: ms of a decode step by context.
Imported read_nsa_vibe_guard(const Input& input);

}  // namespace nsa::exchange
