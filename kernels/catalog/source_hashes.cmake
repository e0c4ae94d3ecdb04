# nsa_variant_sources(<name> <files...>): the files whose contents identify a variant. The headers of
# its .cu files are found by their includes; those of other files are named where they count.
# The build writes generated/source_hashes.hpp with one constant per name, nsa::source_hash::<name>,
# so that a measurement knows which code it timed. Rows of a stage's table use the constant.
function(nsa_variant_sources name)
  set(files "")
  foreach(file IN LISTS ARGN)
    get_filename_component(file ${file} ABSOLUTE)
    list(APPEND files ${file})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY NSA_VARIANT_NAMES ${name})
  set_property(GLOBAL PROPERTY NSA_VARIANT_FILES_${name} "${files}")
endfunction()

# nsa_generate_source_hashes(<target>): called once, after all folders have named their sources.
function(nsa_generate_source_hashes target)
  get_property(names GLOBAL PROPERTY NSA_VARIANT_NAMES)
  set(all_files "")
  set(lists "")
  foreach(name IN LISTS names)
    get_property(files GLOBAL PROPERTY NSA_VARIANT_FILES_${name})
    list(APPEND all_files ${files})
    string(APPEND lists "set(files_of_${name} \"${files}\")\n")
  endforeach()
  list(REMOVE_DUPLICATES all_files)
  set(lists_file ${PROJECT_BINARY_DIR}/generated/source_lists.cmake)
  set(header ${PROJECT_BINARY_DIR}/generated/source_hashes.hpp)
  file(CONFIGURE OUTPUT ${lists_file} CONTENT "set(names \"${names}\")\n${lists}" @ONLY)
  set(script ${PROJECT_SOURCE_DIR}/kernels/catalog/hash_sources.cmake)
  set(kernels ${PROJECT_SOURCE_DIR}/kernels)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${kernels}/*.cuh ${kernels}/*.hpp)
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DLISTS=${lists_file} -DHEADER=${header} -DKERNELS=${kernels}
            -P ${script}
    DEPENDS ${all_files} ${headers} ${lists_file} ${script}
    COMMENT "Hashing the sources of the variants" VERBATIM)
  target_sources(${target} PRIVATE ${header})
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
endfunction()
