# The page of --html: its own files, D3's zoom and what that needs, in the order of their loading, and the
# licences of these.
set(D3_MODULES dispatch ease timer color interpolate selection transition drag zoom)
set(PAGE ${CMAKE_CURRENT_SOURCE_DIR}/src/emit/picture/page)
set(PAGE_FILES page=${PAGE}/timeline.html style=${PAGE}/timeline.css script=${PAGE}/model.js
  script=${PAGE}/view.js script=${PAGE}/draw.js
  script=${PAGE}/stack.js script=${PAGE}/timeline.js)
foreach(module ${D3_MODULES})
  set(library ${REMAT_HLO_D3_DIR}/d3-${module}/dist/d3-${module}.min.js)
  set(licence /usr/share/doc/node-d3-${module}/copyright)
  if(NOT EXISTS ${licence})
    set(licence ${REMAT_HLO_D3_DIR}/d3-${module}/LICENSE)
  endif()
  if(NOT EXISTS ${library} OR NOT EXISTS ${licence})
    message(FATAL_ERROR "${library} or its licence is missing: install Debian's node-d3-zoom, or say where "
      "D3 is by -DREMAT_HLO_D3_DIR=, or build without --html by -DREMAT_HLO_PICTURES=OFF")
  endif()
  list(APPEND PAGE_FILES d3=${library} licence=${licence})
  set(D3_LICENCE_${module} ${licence})
endforeach()

string(REGEX REPLACE "[a-z0-9]+=" "" PAGE_DEPENDS "${PAGE_FILES}")
string(REPLACE ";" "|" PAGE_PARTS "${PAGE_FILES}")
set(PAGE_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/generated/page_parts.c)
add_custom_command(OUTPUT ${PAGE_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${PAGE_SOURCE} -DHEADER=emit/picture/page.h -DTYPE=PagePart
          -DTABLE=page_parts "-DPARTS=${PAGE_PARTS}" -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${PAGE_DEPENDS} cmake/embed.cmake VERBATIM)
list(APPEND LIBRARY_SOURCES ${PAGE_SOURCE})
