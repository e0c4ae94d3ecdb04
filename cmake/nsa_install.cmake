# What `cmake --install` puts where. Relocatable: nothing holds the prefix.
#   component development: find_package(nsatune) with nsatune::schemas and nsatune::kernels
#   component program:     the program, shipped thresholds, schemas, licence
include(CMakePackageConfigHelpers)

set(_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nsatune)

# The public headers: all of the runtime, and the words of the vocabulary that these use. CMake compiles each
# alone (--target all_verify_interface_header_sets); tests/consumer does the same with what was installed.
file(GLOB_RECURSE _headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/include/*.hpp)
target_sources(nsa_kernels PUBLIC FILE_SET HEADERS
  BASE_DIRS ${PROJECT_SOURCE_DIR}/kernels/include FILES ${_headers})
set(_words cuda_error device env_names error measurement problem thresholds types variant)
list(TRANSFORM _words REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/schemas/include/nsa/schemas/\\1.hpp")
target_sources(nsa_schemas PUBLIC FILE_SET HEADERS
  BASE_DIRS ${PROJECT_SOURCE_DIR}/schemas/include FILES ${_words})
set_target_properties(nsa_schemas nsa_kernels PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)

install(TARGETS nsa_schemas nsa_kernels EXPORT nsatune
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT nsatune NAMESPACE nsatune:: FILE nsatune-targets.cmake
        DESTINATION ${_config_dir} COMPONENT development)
configure_package_config_file(cmake/nsatune-config.cmake.in
  ${PROJECT_BINARY_DIR}/nsatune-config.cmake INSTALL_DESTINATION ${_config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nsatune-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nsatune-config.cmake
              ${PROJECT_BINARY_DIR}/nsatune-config-version.cmake
        DESTINATION ${_config_dir} COMPONENT development)

set(_doc_dir ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${_doc_dir} COMPONENT development)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${_doc_dir} COMPONENT program)
install(DIRECTORY schemas/json schemas/sql DESTINATION ${CMAKE_INSTALL_DATADIR}/nsatune/schemas
        COMPONENT program)
install(FILES schemas/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/nsatune/schemas
        COMPONENT program)
install(DIRECTORY kernels/tuned/ DESTINATION ${CMAKE_INSTALL_DATADIR}/nsatune/tuned
        COMPONENT program FILES_MATCHING PATTERN "*.json" PATTERN "README.md")

if(TARGET nsatune)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR}
          COMPONENT program FILES_MATCHING PATTERN "*.1")
  if(NSA_PACKAGE)
    include(nsa_package)
  else()
    install(TARGETS nsatune RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  endif()
endif()
