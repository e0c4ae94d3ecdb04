// What `packed`, `varlen_v1` and `varlen_v2` are made of on a GPU: rows, their packed keys, and one
// attention over a list of packed rows.
#pragma once

#include <cstdint>

#include "nsa/schemas/types.hpp"

struct CUstream_st;

namespace nsa::cuda {

struct AttendParams;
struct PackedRow;  // packed_row.hpp

/// lengths [tokens * kv_heads]: keys that each row selects, by its ranges.
void measure_rows(const AttendParams& p, std::int32_t* lengths, CUstream_st* stream);
/// Lists rows [first, first + count) with their keys one row after the other, `most` of each.
void list_rows(const std::int32_t* lengths, std::int64_t first, std::int64_t count,
               std::int64_t most, PackedRow* list, CUstream_st* stream);
/// Copies the keys of the listed rows to k [keys, dk] and v [keys, dv].
void pack_rows(const AttendParams& p, Dtype dtype, const PackedRow* list, std::int64_t count,
               void* k, void* v, CUstream_st* stream);

/// Attention of the listed rows over packed keys: the parameters' k and v are the copies.
void attend_listed_fp32(const AttendParams& p, const PackedRow* list, std::int64_t count,
                        CUstream_st* stream);
void attend_listed_bf16(const AttendParams& p, const PackedRow* list, std::int64_t count,
                        CUstream_st* stream);
void attend_listed_fp16(const AttendParams& p, const PackedRow* list, std::int64_t count,
                        CUstream_st* stream);

}  // namespace nsa::cuda
