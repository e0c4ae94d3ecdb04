// What this build and this machine have of vendors' kernels.
#include "launches/vendor.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/vendor.hpp"
#include "vendor/cudnn/sdpa.hpp"

namespace nsa {
namespace {

constexpr const char* kNoCuda = "this build has no CUDA back end; configure with NSA_CUDA=ON";
constexpr const char* kNoFrontEnd =
    "built without the headers of cudnn-frontend 1.32.0 or of cuDNN; run scripts/install_deps and "
    "configure again, or set NSA_CUDNN_FRONTEND_INCLUDE_DIR";
constexpr const char* kNoFlashInfer =
    "built without the headers of FlashInfer 0.5.3; run scripts/install_deps and configure again, "
    "or set NSA_FLASHINFER_INCLUDE_DIR";

Capability sdpa() {
  Capability row{"cuDNN attention", false, vendor::sdpa_version(), vendor::sdpa_missing()};
  if (!vendor::kSdpa) row.reason = device::built() ? kNoFrontEnd : kNoCuda;
  row.usable = row.reason.empty();
  return row;
}

Capability flashinfer() {
  Capability row{"FlashInfer", vendor::kFa2DenseWindow != nullptr, "", ""};
  if (row.usable) {
    row.version = "0.5.3";
  } else {
    row.reason = device::built() ? kNoFlashInfer : kNoCuda;
  }
  return row;
}

}  // namespace

std::vector<Capability> vendor_capabilities() { return {sdpa(), flashinfer()}; }

std::string why_not_built(const Variant& row) {
  if (row.launch) return "";
  if (row.backend == Backend::cuda && device::built()) {
    if (row.library == Library::flashinfer) return kNoFlashInfer;
    if (row.library == Library::cudnn) return kNoFrontEnd;
    for (const Part& part : row.plan.parts) {
      if (part.row && !part.row->launch) return why_not_built(*part.row);
    }
  }
  return kNoCuda;
}

}  // namespace nsa
