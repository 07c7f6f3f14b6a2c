# The device profiles of share/remat-hlo/profiles, built into the library: their bytes, and a row
# DEVICE(name, description) for each, in the order of their names.
file(GLOB PROFILES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/share/remat-hlo/profiles/*.json)
set(PROFILE_FILES "")
set(rows "")
foreach(profile ${PROFILES})
  get_filename_component(name ${profile} NAME_WLE)
  file(READ ${profile} json)
  foreach(key name description)
    string(JSON ${key}_text GET "${json}" ${key})
    string(REGEX REPLACE "([\\\"])" "\\\\\\1" ${key}_text "${${key}_text}")
  endforeach()
  if(NOT name STREQUAL name_text)
    message(FATAL_ERROR "${profile} has the profile of ${name_text}")
  endif()
  string(APPEND rows "DEVICE(\"${name_text}\", \"${description_text}\")\n")
  list(APPEND PROFILE_FILES ${name}=${profile})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${profile})
endforeach()
file(CONFIGURE OUTPUT generated/analysis/cost/devices.def CONTENT "${rows}#undef DEVICE\n" @ONLY)

string(REPLACE ";" "|" PROFILE_PARTS "${PROFILE_FILES}")
set(PROFILE_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/generated/built_in_profiles.c)
add_custom_command(OUTPUT ${PROFILE_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${PROFILE_SOURCE} -DHEADER=analysis/cost/built_in_profiles.h
          -DTYPE=BuiltInProfile -DTABLE=built_in_profiles "-DPARTS=${PROFILE_PARTS}"
          -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${PROFILES} cmake/embed.cmake VERBATIM)
list(APPEND LIBRARY_SOURCES ${PROFILE_SOURCE})
