// A vendor library that is opened at run time, because a machine may be without it.
#pragma once

#include <initializer_list>
#include <string>

namespace nsa::cuda {

/// The handle of the first name that opens, as the loader finds it or in the folders of a CUDA
/// toolkit; never closed, since what it gives lives as long as the process. Null with `reason`.
void* open_library(std::initializer_list<const char*> names, std::string& reason);

}  // namespace nsa::cuda
