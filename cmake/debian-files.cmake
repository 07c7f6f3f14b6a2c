# Run by cpack before it packs: what Debian's policy wants of packages beside what is installed anywhere. The
# folder of a component is the root of its package.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()

function(compress)
  execute_process(COMMAND gzip -9nf ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Libraries are in a folder of their architecture: `lib` becomes it for all but CMake's files, which both
# architectures and CMake find in `lib`.
function(move_libraries root)
  set(folder lib/${CPACK_REMAT_HLO_MULTIARCH})
  if(NOT CPACK_REMAT_HLO_MULTIARCH OR NOT CPACK_REMAT_HLO_LIBDIR STREQUAL lib OR NOT EXISTS ${root}/lib)
    return()
  endif()
  file(GLOB moved ${root}/lib/pkgconfig ${root}/lib/lib*)
  file(MAKE_DIRECTORY ${root}/${folder})
  foreach(path ${moved})
    get_filename_component(name ${path} NAME)
    file(RENAME ${path} ${root}/${folder}/${name})
  endforeach()
  file(GLOB paths ${root}/lib/cmake/remat-hlo/*.cmake ${root}/${folder}/pkgconfig/remat-hlo.pc)
  foreach(path ${paths})
    file(READ ${path} text)
    string(REPLACE "{_IMPORT_PREFIX}/lib/libremat_hlo" "{_IMPORT_PREFIX}/${folder}/libremat_hlo" text "${text}")
    string(REPLACE "{pcfiledir}/../..\n" "{pcfiledir}/../../..\n" text "${text}")
    string(REPLACE "libdir=\${prefix}/lib\n" "libdir=\${prefix}/${folder}\n" text "${text}")
    file(WRITE ${path} "${text}")
  endforeach()
endfunction()

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(READ ${CPACK_REMAT_HLO_NOTICE} notice)
foreach(component ${CPACK_COMPONENTS_ALL})
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX})
  string(TOUPPER ${component} COMPONENT)
  set(package ${CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME})
  set(doc ${root}/share/doc/${package})

  # What is documentation of the library comes with the library.
  if(NOT package STREQUAL remat-hlo AND EXISTS ${root}/share/doc/remat-hlo)
    file(RENAME ${root}/share/doc/remat-hlo ${doc})
  endif()
  file(REMOVE ${doc}/LICENSE ${doc}/NOTICE ${doc}/CHANGELOG.md)
  file(WRITE ${doc}/copyright "${notice}
On Debian systems, the text of the Apache License, version 2.0, is in
/usr/share/common-licenses/Apache-2.0.
")
  file(READ ${CPACK_REMAT_HLO_CHANGELOG} changelog)
  file(WRITE ${doc}/changelog "${changelog}")
  file(WRITE ${doc}/changelog.Debian
    "remat-hlo (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Packaged by cpack. The changes of the program are in changelog.gz.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
  file(GLOB pages ${root}/share/man/man1/*.1)
  compress(${doc}/changelog ${doc}/changelog.Debian ${pages})

  # Where Debian's zsh looks for what comes from packages.
  if(EXISTS ${root}/share/zsh/site-functions)
    file(RENAME ${root}/share/zsh/site-functions ${root}/share/zsh/vendor-completions)
  endif()
  move_libraries(${root})
  file(GLOB_RECURSE files LIST_DIRECTORIES true ${root}/*)
  foreach(file ${files})
    if(IS_DIRECTORY ${file})
      file(CHMOD ${file} PERMISSIONS
        OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    elseif(NOT IS_SYMLINK ${file} AND NOT file MATCHES "/bin/")
      file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    endif()
  endforeach()
endforeach()
