# What is installed, in the components `tool`, `library` (what programs need that are linked to it) and
# `development`. Nothing of it knows the prefix, so that an installed tree can be moved.
include(CMakePackageConfigHelpers)
set(DOC_DIR ${CMAKE_INSTALL_DATAROOTDIR}/doc/remat-hlo)
set(CMAKE_CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/remat-hlo)

# ---- the tool ----

if(TARGET remat-hlo)
  install(TARGETS remat-hlo COMPONENT tool)
endif()
install(DIRECTORY share/remat-hlo/profiles DESTINATION ${CMAKE_INSTALL_DATADIR}/remat-hlo COMPONENT tool)
install(FILES man/remat-hlo.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool)
install(FILES LICENSE CHANGELOG.md ${CMAKE_CURRENT_BINARY_DIR}/NOTICE DESTINATION ${DOC_DIR} COMPONENT tool)
install(DIRECTORY man/ DESTINATION ${DOC_DIR} COMPONENT tool FILES_MATCHING PATTERN "*.md" PATTERN "*.svg"
  PATTERN "*.ipynb")
install(FILES hlo_samples/gpt_unrolled.after_optimizations.hlo DESTINATION ${DOC_DIR}/examples COMPONENT tool)
install(FILES scripts/completion/remat-hlo.bash RENAME remat-hlo
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tool)
install(FILES scripts/completion/remat-hlo.zsh RENAME _remat-hlo
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT tool)
install(FILES scripts/completion/remat-hlo.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tool)

# ---- the library ----

set_target_properties(remat_hlo_shared PROPERTIES EXPORT_NAME remat_hlo)
foreach(kind shared static)
  install(TARGETS remat_hlo_${kind} EXPORT remat-hlo-${kind}
    LIBRARY COMPONENT library NAMELINK_COMPONENT development
    ARCHIVE COMPONENT development)
  install(EXPORT remat-hlo-${kind} NAMESPACE remat-hlo:: DESTINATION ${CMAKE_CONFIG_DIR}
    COMPONENT development)
endforeach()
install(FILES include/remat_hlo.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(FILES tests/api/example.c DESTINATION ${DOC_DIR}/examples COMPONENT development)

# Below 1.0.0 a new minor version is another interface, as the soname says.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
configure_package_config_file(cmake/remat-hlo-config.cmake.in remat-hlo-config.cmake
  INSTALL_DESTINATION ${CMAKE_CONFIG_DIR})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/remat-hlo-config-version.cmake
  COMPATIBILITY ${compatibility})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/remat-hlo-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/remat-hlo-config-version.cmake
  DESTINATION ${CMAKE_CONFIG_DIR} COMPONENT development)

# Folders that were configured with a full path stay where they are; the others go by the place of the file.
function(set_pc_folder variable folder)
  if(NOT IS_ABSOLUTE ${folder})
    set(folder "\${prefix}/${folder}")
  endif()
  set(${variable} ${folder} PARENT_SCOPE)
endfunction()
file(RELATIVE_PATH PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" PC_PREFIX "${PC_PREFIX}")
set_pc_folder(PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
set_pc_folder(PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
set(PC_REQUIRES libcjson)
if(REMAT_HLO_DOT)
  string(APPEND PC_REQUIRES " libcgraph")
endif()
if(REMAT_HLO_PROTO)
  string(APPEND PC_REQUIRES " libprotobuf-c")
endif()
configure_file(cmake/remat-hlo.pc.in remat-hlo.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/remat-hlo.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT development)
