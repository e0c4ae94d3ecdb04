# Read by CPack for each generator: a .deb leaves the libraries to the packages that it depends on.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL program)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
endif()
