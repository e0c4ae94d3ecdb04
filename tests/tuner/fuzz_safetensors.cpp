// libFuzzer: any bytes are a safetensors file, whose tensors all lie inside of it, or an
// InputError.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "nsa/schemas/error.hpp"
#include "nsa/tuner/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = memfd_create("fuzz", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    std::abort();
  try {
    unsigned sum = 0;
    for (const nsa::HostTensor& tensor : nsa::tuner::read_safetensors(path, 1 << 20))
      for (const auto byte : tensor.bytes) sum += static_cast<unsigned>(byte);
    volatile unsigned read = sum;  // every byte of every tensor
    (void)read;
  } catch (const nsa::InputError&) {
  }
  return 0;
}
