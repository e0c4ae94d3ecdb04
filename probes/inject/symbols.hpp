// What code addresses and symbols of this process are called.
#pragma once

#include <string>

namespace nsa::inject {

/// A mangled name as it is written in C++; any other text stays.
std::string demangled(const std::string& name);

/// "nsa::f(int)", or "libc.so.6+0x9f2a1" where the symbol is not known. `returns`: the address is
/// where a call returns to. Waits for the lock of the dynamic linker.
std::string name_of_code(const void* address, bool returns);

}  // namespace nsa::inject
