# nsa_variant_sources(<name> <units...>): the translation units (.cpp, .cu) whose code a launch of a
# row can run, the one with its launch function first; what they include is found by the build. The
# build writes generated/source_hashes.hpp with one constant per name, nsa::source_hash::<name>, so
# that a measurement knows which code it timed. Rows of a stage's table use the constant. A list is
# the same in every build: none depends on what is installed.
function(nsa_variant_sources name)
  get_property(names GLOBAL PROPERTY NSA_VARIANT_NAMES)
  if(name IN_LIST names)
    message(FATAL_ERROR "nsa_variant_sources(${name}) is there twice")
  endif()
  set(units "")
  foreach(unit IN LISTS ARGN)
    if(NOT unit MATCHES "\\.(cpp|cu)$")
      message(FATAL_ERROR "nsa_variant_sources(${name}): ${unit} is no translation unit; headers "
                          "are found by what includes them")
    endif()
    get_filename_component(unit ${unit} ABSOLUTE)
    file(RELATIVE_PATH unit ${PROJECT_SOURCE_DIR} ${unit})
    list(APPEND units ${unit})
  endforeach()
  list(REMOVE_DUPLICATES units)
  list(JOIN units " " units)
  set_property(GLOBAL APPEND PROPERTY NSA_VARIANT_NAMES ${name})
  set_property(GLOBAL APPEND_STRING PROPERTY NSA_VARIANT_LISTS "list ${name} ${units}\n")
endfunction()

# nsa_generate_source_hashes(<target>): called once, after all folders have named their sources.
function(nsa_generate_source_hashes target)
  set(generated ${PROJECT_BINARY_DIR}/generated)
  set(lists ${generated}/source_lists.txt)
  set(header ${generated}/source_hashes.hpp)
  set(stamp ${generated}/source_hashes.stamp)  # the header is older where nothing changed
  get_property(text GLOBAL PROPERTY NSA_VARIANT_LISTS)
  string(PREPEND text "include kernels/include\ninclude kernels/internal\ninclude kernels\ninclude schemas/include\n")
  file(CONFIGURE OUTPUT ${lists} CONTENT "${text}" @ONLY)

  set(tool ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/source_hash)
  add_library(nsa_source_scan STATIC ${tool}/scan.cpp ${tool}/code_text.cpp
    ${tool}/sha256.cpp)
  target_include_directories(nsa_source_scan PUBLIC ${tool})
  target_link_libraries(nsa_source_scan PRIVATE nsa_warnings)
  add_executable(nsa_source_hash ${tool}/main.cpp)
  target_link_libraries(nsa_source_hash PRIVATE nsa_source_scan nsa_warnings)
  set_target_properties(nsa_source_hash PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${generated})
  add_custom_command(OUTPUT ${stamp} BYPRODUCTS ${header}
    COMMAND nsa_source_hash ${PROJECT_SOURCE_DIR} ${lists} ${header} ${stamp}
    DEPENDS nsa_source_hash ${lists} DEPFILE ${stamp}.d
    COMMENT "Hashing the sources of the variants" VERBATIM)
  add_custom_target(nsa_source_hashes DEPENDS ${stamp})
  add_dependencies(${target} nsa_source_hashes)
  target_include_directories(${target} PRIVATE ${generated})
endfunction()
