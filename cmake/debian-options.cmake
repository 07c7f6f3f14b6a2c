# Read by cpack for each kind of package.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()

# Each package has a summary of its own, the first line of its component's description.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${CPACK_DEFAULT_PACKAGE_DESCRIPTION_SUMMARY}")

# Who makes the packages, as for Debian's own tools.
set(name "$ENV{DEBFULLNAME}")
set(address "$ENV{DEBEMAIL}")
if(NOT address)
  set(address "$ENV{EMAIL}")
endif()
if(NOT name)
  set(name "remat-hlo maintainers")
endif()
if(NOT address)
  cmake_host_system_information(RESULT host QUERY FQDN)
  if(NOT host MATCHES "[.]")
    string(APPEND host .localdomain)
  endif()
  set(address remat-hlo@${host})
endif()
if(NOT CPACK_DEBIAN_PACKAGE_MAINTAINER)
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${name} <${address}>")
endif()
