# nsa_add_variant(<name> <units...> [SM90A <units...>] [SHARED <units...>]
#                 [LAUNCH <constants...>] [FUNCTIONS <header> <constants...>]
#                 [BUILT_IF <variable>] [TEXTS <header> <functions...>])
# One variant of the stage whose folder this is called in:
#   units     its own translation units, the one with its launch function first
#   SM90A     those of its own that only sm_90a can run
#   SHARED    units of others that a launch of it can run; compiled where they belong
#   LAUNCH    a CUDA variant: the constants nsa::<folder>::<constant> (LaunchFunction) that its units
#             define and its rows name. "launches/<folder>.hpp" declares them; where the toolkit is
#             missing, or the variable of BUILT_IF is false, the units are left out and the constants
#             are null
#   FUNCTIONS the same of a CUDA variant with launch functions of other types: constants, each as
#             "<type> <name>", that the header declares
#   TEXTS     functions without parameters, each as "<type> <name>", that the units define and the
#             header declares: why a library cannot be used, which version it has. Empty texts where
#             the units are left out
# Compiles the units and writes nsa::source_hash::<name>, of all that these units are compiled from.
function(nsa_add_variant name)
  cmake_parse_arguments(ARG "" "BUILT_IF" "SM90A;SHARED;LAUNCH;FUNCTIONS;TEXTS" ${ARGN})
  set(own ${ARG_UNPARSED_ARGUMENTS})
  nsa_variant_sources(${name} ${own} ${ARG_SM90A} ${ARG_SHARED})
  list(TRANSFORM own PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM ARG_SM90A PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  if(NOT ARG_LAUNCH AND NOT ARG_FUNCTIONS)
    target_sources(nsa_kernels PRIVATE ${own})
    return()
  endif()
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  if(ARG_LAUNCH)
    set_property(GLOBAL APPEND PROPERTY NSA_LAUNCH_FOLDERS ${folder})
    set_property(GLOBAL APPEND PROPERTY NSA_LAUNCHES_${folder} ${ARG_LAUNCH})
  endif()
  set(built ${NSA_HAVE_CUDA})
  if(ARG_BUILT_IF)
    set(built ${${ARG_BUILT_IF}})
  endif()
  if(built)
    target_sources(nsa_kernels PRIVATE ${own})
    if(ARG_SM90A)
      target_sources(nsa_kernels_sm90a PRIVATE ${ARG_SM90A})
    endif()
  else()
    nsa_write_stub(${name} ${folder} "${ARG_LAUNCH}" "${ARG_FUNCTIONS}" "${ARG_TEXTS}")
  endif()
endfunction()

# The constants of a variant that is not built as null pointers, its texts as empty ones.
function(nsa_write_stub name folder launch functions texts)
  set(stub ${PROJECT_BINARY_DIR}/generated/launches/${name}_not_built.cpp)
  set(definitions "")
  set(includes "")
  if(launch)
    string(APPEND includes "#include \"launches/${folder}.hpp\"\n")
    list(TRANSFORM launch PREPEND "LaunchFunction ")
  endif()
  foreach(list functions texts)
    if(${list})
      list(POP_FRONT ${list} header)
      string(APPEND includes "#include \"${header}\"\n")
    endif()
  endforeach()
  foreach(constant IN LISTS launch functions)
    string(APPEND definitions "constinit const ${constant} = nullptr;\n")
  endforeach()
  foreach(function IN LISTS texts)
    string(APPEND definitions
           "${function}() {\n  static const std::string none;\n  return none;\n}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${stub} @ONLY CONTENT
"// Written by CMake (nsa_add_variant). Do not edit.
${includes}
namespace nsa::${folder} {

${definitions}
}  // namespace nsa::${folder}
")
  target_sources(nsa_kernels PRIVATE ${stub})
endfunction()

# nsa_generate_launches(): called once, after all variants were added. Writes a header for each folder,
# which the tables include and no unit does: it changes with every variant.
function(nsa_generate_launches)
  get_property(folders GLOBAL PROPERTY NSA_LAUNCH_FOLDERS)
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    get_property(constants GLOBAL PROPERTY NSA_LAUNCHES_${folder})
    list(JOIN constants ",\n    " constants)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/launches/${folder}.hpp @ONLY CONTENT
"// Written by CMake (nsa_add_variant): launch functions of CUDA variants, null where not built.
#pragma once

#include \"nsa/kernels/launch.hpp\"

namespace nsa::${folder} {

extern const LaunchFunction ${constants};

}  // namespace nsa::${folder}
")
  endforeach()
endfunction()
