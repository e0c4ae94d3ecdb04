// A failed CUDA call: what, where, and one check that is one call into a function. Names no CUDA
// type, so that a program without the toolkit can catch it too. Threads may share an error; what
// CUDA reports is that of the calling thread.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace nsa {

/// A CUDA call failed. The context may be lost (an illegal access stays): end the process.
struct CudaError : std::runtime_error {
  CudaError(int failed_code, const char* code_name, const char* text, const char* failed_call,
            const std::source_location& at)
      : std::runtime_error(std::string(at.file_name()) + ":" + std::to_string(at.line()) + ": " +
                           failed_call + ": " + code_name + " (" + std::to_string(failed_code) +
                           "): " + text),
        code(failed_code),
        name(code_name),
        call(failed_call),
        where(at) {}

  int code;
  std::string name;  // "cudaErrorInvalidValue"
  std::string call;
  std::source_location where;
};

/// What a user can do about it, in one line; the whole of the error for the ones that nobody can.
std::string advice_for(const CudaError& error);

/// Throws CudaError unless `code` is success (zero). `Code` is cudaError_t: a template, so that
/// this header needs no CUDA header; the two functions are found by argument when it is
/// instantiated.
template <class Code>
void check_cuda(Code code, const char* call,
                const std::source_location& where = std::source_location::current()) {
  if (code == Code{}) return;
  throw CudaError(static_cast<int>(code), cudaGetErrorName(code), cudaGetErrorString(code), call,
                  where);
}

}  // namespace nsa

/// NSA_CUDA(cudaMemset(...)): the call's text goes into the error.
#define NSA_CUDA(...) ::nsa::check_cuda((__VA_ARGS__), #__VA_ARGS__)
