# What `pip install .` puts into the Python package: the shared library, with cJSON and protobuf-c, on which alone
# it depends, beside it, and the device profiles.
set_target_properties(remat_hlo_shared PROPERTIES NO_SONAME ON INSTALL_RPATH $ORIGIN)
set_property(TARGET remat_hlo_shared PROPERTY VERSION)
set_property(TARGET remat_hlo_shared PROPERTY SOVERSION)
install(TARGETS remat_hlo_shared LIBRARY DESTINATION remat_hlo COMPONENT python NAMELINK_SKIP)

# bundle(LIBRARY NAME PACKAGE): puts a shared library and its licence, that of the Debian package, beside ours. The
# file that the loader asks for has the name that is in the library itself.
function(bundle library name package)
  if(NOT library MATCHES "[.]so[.0-9]*$")
    return()
  endif()
  file(REAL_PATH ${library} file)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${file} OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "SONAME +([^\n ]+)" _ "${headers}")
  install(FILES ${file} DESTINATION remat_hlo RENAME ${CMAKE_MATCH_1} COMPONENT python)
  if(EXISTS /usr/share/doc/${package}/copyright)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION remat_hlo RENAME ${name}.copyright
            COMPONENT python)
  endif()
endfunction()
list(GET CJSON_LINK_LIBRARIES 0 CJSON_LIBRARY)
bundle(${CJSON_LIBRARY} cjson libcjson-dev)
if(REMAT_HLO_PROTO)
  list(GET PROTOBUF_C_LINK_LIBRARIES 0 PROTOBUF_C_LIBRARY)
  bundle(${PROTOBUF_C_LIBRARY} protobuf-c libprotobuf-c-dev)
endif()

install(DIRECTORY share/remat-hlo/profiles DESTINATION remat_hlo COMPONENT python)
