# libtarn in both forms, from the objects of all rooms and of CRoaring; and the program on top of it.

# tarn_libraries(): targets tarn_shared (libtarn.so.0) and tarn_static (libtarn.a). In both the exported symbols are
# those of include/tarn and no others: hidden ones are made local in the archive, too, so that a program may link
# another copy of CRoaring beside it, and so that what links it cannot reach into the rooms.
function(tarn_libraries)
  set(objects $<TARGET_OBJECTS:tarn_roaring>)
  foreach(room IN LISTS TARN_ROOMS)
    if(TARGET room_${room}_objects)
      list(APPEND objects $<TARGET_OBJECTS:room_${room}_objects>)
    endif()
  endforeach()
  get_property(libraries GLOBAL PROPERTY TARN_ROOM_LIBRARIES)
  list(REMOVE_DUPLICATES libraries)
  list(REMOVE_ITEM libraries tarn_roaring tarn_flags)

  add_library(tarn_shared SHARED ${objects})
  set_target_properties(tarn_shared PROPERTIES OUTPUT_NAME tarn VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE C)
  target_include_directories(tarn_shared INTERFACE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(tarn_shared PRIVATE tarn_flags ${libraries})
  if(NOT TARN_SANITIZE)
    target_link_options(tarn_shared PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL)
  endif()

  if(TARN_SANITIZE)
    add_library(tarn_static STATIC ${objects})
  else()
    set(whole ${CMAKE_CURRENT_BINARY_DIR}/libtarn.o)
    add_custom_command(OUTPUT ${whole}
      COMMAND ${CMAKE_LINKER} -r -o ${whole} ${objects}
      COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${whole}
      DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM COMMENT "Joining the rooms in libtarn.o")
    add_library(tarn_static STATIC ${whole})
    set_source_files_properties(${whole} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  endif()
  set_target_properties(tarn_static PROPERTIES OUTPUT_NAME tarn LINKER_LANGUAGE C)
  target_include_directories(tarn_static INTERFACE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(tarn_static INTERFACE ${libraries} m)

  add_custom_target(product DEPENDS tarn_shared tarn_static)
endfunction()

# tarn_program(name SOURCES a.c ...): build/<name>, a client of include/tarn; the archive gives it nothing else.
function(tarn_program name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name}_program ${PROGRAM_SOURCES})
  set_target_properties(${name}_program PROPERTIES OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_link_libraries(${name}_program PRIVATE tarn_flags tarn_static tarn_nanoarrow
    ${PROGRAM_LIBRARIES})
  add_dependencies(product ${name}_program)
endfunction()
