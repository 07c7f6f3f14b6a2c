# Run by cpack when it has packed: a package with a trigger for ldconfig has no scripts that call it.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()

function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(root ${CPACK_TOPLEVEL_DIRECTORY}/repacked)
foreach(package ${CPACK_PACKAGE_FILES})
  file(REMOVE_RECURSE ${root})
  run(dpkg-deb --raw-extract ${package} ${root})
  if(EXISTS ${root}/DEBIAN/triggers AND EXISTS ${root}/DEBIAN/postinst)
    file(REMOVE ${root}/DEBIAN/postinst ${root}/DEBIAN/postrm)
    run(dpkg-deb --root-owner-group --build ${root} ${package})
  endif()
  file(REMOVE_RECURSE ${root})
endforeach()
