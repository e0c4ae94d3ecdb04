// NVTX comes to us first, and we pass it on to CUPTI.
#pragma once

#include <functional>

namespace nsa::inject {

/// NvtxGetExportTableFunc_t.
using ExportTable = const void* (*)(unsigned);

/// Calls `attach_cupti`, which may put its functions into NVTX's tables, and puts ours before them.
/// False when NVTX is of a version that we do not know: CUPTI's are all there is then.
bool attach_nvtx(ExportTable export_table, const std::function<void()>& attach_cupti);

/// NVTX's extension for payloads asks for our functions: nvtxExtModuleInfo_t. False where it is
/// another extension, or one that we do not know.
bool attach_payloads(void* module_info);

}  // namespace nsa::inject
