# cpack makes a tarball of everything (-G TGZ), which runs wherever it is unpacked, and Debian packages of the
# tool, the library and its development files (-G DEB, with dpkg-dev and file).
set(CPACK_PACKAGE_NAME remat-hlo)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_VENDOR "the authors of remat-hlo")
set(CPACK_GENERATOR TGZ)
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(DPKG_SHLIBDEPS)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL tool library development)
set(CPACK_PACKAGE_FILE_NAME
  remat-hlo-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# ---- Debian: what is set when cpack runs is in debian-options.cmake ----

set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_SOURCE_DIR}/cmake/debian-options.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/cmake/debian-files.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/cmake/debian-control.cmake)
set(CPACK_REMAT_HLO_LIBDIR ${CMAKE_INSTALL_LIBDIR})
set(CPACK_REMAT_HLO_MULTIARCH ${CMAKE_LIBRARY_ARCHITECTURE})
set(CPACK_REMAT_HLO_NOTICE ${CMAKE_CURRENT_BINARY_DIR}/NOTICE)
set(CPACK_REMAT_HLO_CHANGELOG ${CMAKE_CURRENT_SOURCE_DIR}/CHANGELOG.md)

# Lower than the revision 1 of a package that Debian would have.
set(CPACK_DEBIAN_PACKAGE_RELEASE 0local1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(debian_version "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
set(library_package libremat-hlo${SOVERSION})
set(about "XLA, the compiler of JAX and TensorFlow, keeps intermediate values in
memory until their last use. remat-hlo reads the HLO text that XLA dumps,
computes values a second time instead of keeping them until the peak fits
a budget, proves that the result computes the same, and writes HLO.")

set(CPACK_DEBIAN_TOOL_PACKAGE_NAME remat-hlo)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOL_PACKAGE_SUGGESTS "graphviz, coinor-libcbc3")
set(CPACK_COMPONENT_TOOL_DESCRIPTION "schedule and rematerialize XLA's HLO under a memory budget
${about}")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_MULTIARCH same)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "rematerialization of XLA's HLO - shared library
${about}
.
This package has the shared library.")
# The linker's cache is renewed by a trigger, as Debian's policy has it; debian-control.cmake removes the scripts
# that cpack writes for that.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/debian/shlibs
  "libremat_hlo ${SOVERSION} ${library_package} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/debian/triggers
  ${CMAKE_CURRENT_BINARY_DIR}/debian/shlibs)

set(requires libcjson-dev)
if(REMAT_HLO_DOT)
  string(APPEND requires ", libgraphviz-dev")
endif()
if(REMAT_HLO_PROTO)
  string(APPEND requires ", libprotobuf-c-dev")
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libremat-hlo-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library_package} (= ${debian_version}), ${requires}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "rematerialization of XLA's HLO - development files
${about}
.
This package has the header, the static library, and files for
pkg-config and CMake.")

include(CPack)
