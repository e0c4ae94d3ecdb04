#include <array>
#include <set>

#include "catch.hpp"
#include "machine/dynamic_library.hpp"
#include "nsa/probes/probes.hpp"

using namespace nsa;
using namespace nsa::probes;

TEST_CASE("every optional library is usable with a version or unusable with a reason", "[probes]") {
  std::set<std::string> names;
  for (const Capability& library : capabilities()) {
    INFO(library.library << ": " << library.version << library.reason);
    CHECK(names.insert(library.library).second);
    if (library.usable) {
      CHECK_FALSE(library.version.empty());
      CHECK(library.reason.empty());
    } else {
      CHECK_FALSE(library.reason.empty());
    }
  }
  for (const char* name :
       {"CUDA driver", "CUDA runtime", "NVML", "CUPTI", "cuDNN", "cuBLASLt", "OpenBLAS"})
    CHECK(names.count(name) == 1);
}

TEST_CASE("a library that is not there says which names were looked for", "[probes]") {
  constexpr std::array kFiles{"libnsa_absent.so.1", "libnsa_absent.so"};
  const DynamicLibrary library(kFiles);
  CHECK_FALSE(library);
  CHECK(library.reason() == "not found (looked for libnsa_absent.so.1, libnsa_absent.so)");
  CHECK(library.function<int()>("anything") == nullptr);
}

TEST_CASE("a library that is there gives its functions, and null for names it has not",
          "[probes]") {
  constexpr std::array kFiles{"libnsa_absent.so", "libm.so.6"};
  const DynamicLibrary library(kFiles);
  REQUIRE(library);
  auto* square_root = library.function<double(double)>("sqrt");
  REQUIRE(square_root);
  CHECK(square_root(9.0) == 3.0);
  CHECK(library.function<int()>("no_such_function") == nullptr);
}
