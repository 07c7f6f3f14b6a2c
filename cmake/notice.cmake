# NOTICE: what of others is part of the tool, with its licences. Of libraries that are only linked to it
# nothing is.
set(NOTICE "remat-hlo ${PROJECT_VERSION}\nCopyright the authors of remat-hlo. Licence: Apache-2.0, in the file LICENSE.\n")
if(REMAT_HLO_PICTURES)
  string(APPEND NOTICE "\nThe tool and the library contain, and each page that --html writes embeds, these modules of D3:\n")
  foreach(module ${D3_MODULES})
    file(READ ${REMAT_HLO_D3_DIR}/d3-${module}/package.json json)
    string(JSON version GET "${json}" version)
    string(APPEND NOTICE "\n==== d3-${module} ${version} ====\n\n")
    file(READ ${D3_LICENCE_${module}} licence)
    string(APPEND NOTICE "${licence}")
  endforeach()
endif()
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/NOTICE "${NOTICE}")
