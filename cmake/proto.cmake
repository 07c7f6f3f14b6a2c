# The messages of src/emit/proto, which protobuf-c's compiler turns into C.
set(PROTO_DIR ${CMAKE_CURRENT_SOURCE_DIR}/src/emit/proto)
set(PROTO_OUT ${CMAKE_CURRENT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${PROTO_OUT})
foreach(name hlo hlo_text)
  add_custom_command(
    OUTPUT ${PROTO_OUT}/${name}.pb-c.c ${PROTO_OUT}/${name}.pb-c.h
    COMMAND ${PROTOC_C} --proto_path=${PROTO_DIR} --c_out=${PROTO_OUT} ${PROTO_DIR}/${name}.proto
    DEPENDS ${PROTO_DIR}/${name}.proto VERBATIM)
  # What is generated is not held to our warnings.
  set_source_files_properties(${PROTO_OUT}/${name}.pb-c.c PROPERTIES COMPILE_OPTIONS -w)
  list(APPEND LIBRARY_SOURCES ${PROTO_OUT}/${name}.pb-c.c ${PROTO_OUT}/${name}.pb-c.h)
endforeach()
