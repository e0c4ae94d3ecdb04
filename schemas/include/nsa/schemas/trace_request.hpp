// How `trace record` tells the tracer inside a program what to record: environment variables, which
// children inherit. The names are here, so that both sides mean the same; all are constants, which
// threads may share.
#pragma once

#include <cstdint>

namespace nsa::spool {

/// Absolute path of the folder that the spools go to; the tracer does nothing without it. A spool's
/// name is "<host>.<pid>.nsaspool", or "<host>.<pid>.<n>.nsaspool" where that exists.
inline constexpr const char* kEnvFolder = "NSATUNE_TRACE_DIR";
/// A number by which `trace record` knows its own spools where several use one folder.
inline constexpr const char* kEnvRecorder = "NSATUNE_TRACE_RECORDER";
/// all, steps, seconds, calls, profiler_api (cudaProfilerStart and Stop).
inline constexpr const char* kEnvWindow = "NSATUNE_TRACE_WINDOW";
/// Whole numbers. steps, calls: `skip` are left out, then `warmup` are traced and thrown away, then
/// `count` are recorded (0 = all that follow). A step begins with an NVTX range whose name is that
/// of a step ("step 3", "ProfilerStep#3", "iteration_3") or is kEnvStepName; a call is a launch.
inline constexpr const char* kEnvSkip = "NSATUNE_TRACE_SKIP";
inline constexpr const char* kEnvWarmup = "NSATUNE_TRACE_WARMUP";
inline constexpr const char* kEnvCount = "NSATUNE_TRACE_COUNT";
inline constexpr const char* kEnvStepName = "NSATUNE_TRACE_STEP_NAME";
/// Part of a kernel's name: its launches begin steps.
inline constexpr const char* kEnvStepKernel = "NSATUNE_TRACE_STEP_KERNEL";
/// Milliseconds that are recorded from the first CUDA call on (window "seconds"), after
/// NSATUNE_TRACE_SKIP_MS.
inline constexpr const char* kEnvDurationMs = "NSATUNE_TRACE_DURATION_MS";
inline constexpr const char* kEnvSkipMs = "NSATUNE_TRACE_SKIP_MS";
/// Milliseconds without any operation ending on the GPU, while some are pending, after which a hang
/// is noted; 0 or unset = never.
inline constexpr const char* kEnvHangMs = "NSATUNE_TRACE_HANG_MS";
/// A hang is two notes in the spool: where the GPU stands (last kernel, open ranges), and one that
/// begins with this line, with the stack of each thread.
inline constexpr const char* kHostStacks = "host stacks:";
/// "end": the program is ended (exit code 124) once the hang is noted; else it is left.
inline constexpr const char* kEnvOnHang = "NSATUNE_TRACE_ON_HANG";
/// 1: the getters that only make noise are recorded too.
inline constexpr const char* kEnvAllCalls = "NSATUNE_TRACE_ALL_CALLS";
/// Records that are left out, with commas between them: sync, memory, overhead.
inline constexpr const char* kEnvWithout = "NSATUNE_TRACE_WITHOUT";

/// 1: the hook for PyTorch comes into Python programs (PYTHONPATH has its folder).
inline constexpr const char* kEnvPython = "NSATUNE_TRACE_PYTHON";
/// How deep modules have ranges: a number, "blocks" (the default: down to the elements of the
/// outermost list of modules) or "all".
inline constexpr const char* kEnvModuleDepth = "NSATUNE_TRACE_MODULE_DEPTH";
/// Only modules whose path or class fits one of these patterns, with commas between them.
inline constexpr const char* kEnvModuleNames = "NSATUNE_TRACE_MODULE_NAMES";
/// Microseconds between two looks at where the main thread of a Python program stands; 0 or unset =
/// none.
inline constexpr const char* kEnvPythonStacksUs = "NSATUNE_TRACE_PYTHON_STACKS_US";

/// Folder of the hook, beside the library that is injected.
inline constexpr const char* kPythonHookFolder = "nsatune_python";

/// File name of the library that is injected; beside the program, or in ../lib/nsatune of it.
inline constexpr const char* kInjectionLibrary = "libnsatune_inject.so";
/// What CUDA and NVTX load it by; both get its path.
inline constexpr const char* kEnvCudaInjection = "CUDA_INJECTION64_PATH";
inline constexpr const char* kEnvNvtxInjection = "NVTX_INJECTION64_PATH";

}  // namespace nsa::spool
