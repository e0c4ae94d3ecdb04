#include "attend_selected/cuda/packed_rows/listed_row.cuh"
#include "attend_selected/cuda/packed_rows/rows.hpp"
#include "attend_selected/cuda/rows/row_keys.cuh"
#include "cuda/flash/tile_mma.cuh"

namespace nsa::cuda {

void attend_listed_fp16(const AttendParams& p, const PackedRow* list, std::int64_t count,
                        CUstream_st* stream) {
  with_padded_dv(p.dv, [&](auto width) {
    launch_row_keys<MmaTile<__half, 16, width()>>(p, ListedRow{list}, count, stream);
  });
}

}  // namespace nsa::cuda
