// Starting a program with our tracer inside: which library, and what the environment has to say.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace nsa::probes {

/// Environment variables: name and value.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// Path of the library that records: `given`, else where it is built and installed beside this
/// program. EnvironmentError when it is not there.
std::string tracer_library(const std::string& given = "");
/// Folder of the hook for Python beside that library; empty when it is not there.
std::string python_hook_folder(const std::string& library);
/// Two tracers in one process lose each other's records: which variable of this environment asks
/// for another one than `library`. Empty: none does.
std::string other_tracer(const std::string& library);
/// What makes CUDA and NVTX load the library, and the library leave spools in a folder.
Variables tracer_variables(const std::string& library, const std::string& folder);
/// The environment of this process with these variables in it, as NAME=value.
std::vector<std::string> environment_with(const Variables& variables);

}  // namespace nsa::probes
