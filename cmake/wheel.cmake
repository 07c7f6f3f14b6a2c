# What `pip install .` puts into the Python package: the shared library, with cJSON, on which alone it
# depends, beside it, and the device profiles.
set_target_properties(remat_hlo_shared PROPERTIES NO_SONAME ON INSTALL_RPATH $ORIGIN)
set_property(TARGET remat_hlo_shared PROPERTY VERSION)
set_property(TARGET remat_hlo_shared PROPERTY SOVERSION)
install(TARGETS remat_hlo_shared LIBRARY DESTINATION remat_hlo COMPONENT python NAMELINK_SKIP)

# The file that the loader asks for has the name that is in the library itself.
list(GET CJSON_LINK_LIBRARIES 0 CJSON_LIBRARY)
if(CJSON_LIBRARY MATCHES "[.]so[.0-9]*$")
  file(REAL_PATH ${CJSON_LIBRARY} CJSON_FILE)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${CJSON_FILE} OUTPUT_VARIABLE CJSON_HEADERS
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "SONAME +([^\n ]+)" _ "${CJSON_HEADERS}")
  install(FILES ${CJSON_FILE} DESTINATION remat_hlo RENAME ${CMAKE_MATCH_1} COMPONENT python)
  if(EXISTS /usr/share/doc/libcjson-dev/copyright)
    install(FILES /usr/share/doc/libcjson-dev/copyright DESTINATION remat_hlo
            RENAME cjson.copyright COMPONENT python)
  endif()
endif()

install(DIRECTORY share/remat-hlo/profiles DESTINATION remat_hlo COMPONENT python)
