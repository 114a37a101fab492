# tarn_room_list(names...): the rooms, lowest first.
macro(tarn_room_list)
  set(TARN_ROOMS ${ARGN})
endmacro()

# tarn_room(name SOURCES a.c ... [LIBRARIES x ...]): a room of src/ as an object library room_<name>_objects and,
# for tests that need no more, a static library room_<name> that links the rooms below it.
function(tarn_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LIBRARIES" ${ARGN})
  foreach(source IN LISTS ROOM_SOURCES)
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      message(WARNING "room ${name} is left out: it has no ${source} yet")
      return()
    endif()
  endforeach()
  add_library(room_${name}_objects OBJECT ${ROOM_SOURCES})
  target_include_directories(room_${name}_objects PRIVATE ${CMAKE_SOURCE_DIR}/src
    ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(room_${name}_objects PRIVATE tarn_flags ${ROOM_LIBRARIES})
  add_library(room_${name} STATIC $<TARGET_OBJECTS:room_${name}_objects>)
  target_include_directories(room_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src
    ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(room_${name} PUBLIC ${ROOM_LIBRARIES})
  foreach(lower IN LISTS TARN_ROOMS)
    if(lower STREQUAL name)
      break()
    endif()
    if(TARGET room_${lower})
      target_link_libraries(room_${name} PUBLIC room_${lower})
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY TARN_ROOM_LIBRARIES ${ROOM_LIBRARIES})
endfunction()

# tarn_test(name SOURCES a.c ROOM highest-room): a cmocka program, registered with ctest as unit/<name>.
function(tarn_test name)
  cmake_parse_arguments(TEST "" "ROOM;LABEL" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT TARGET room_${TEST_ROOM})
    return()
  endif()
  if(NOT TEST_LABEL)
    set(TEST_LABEL unit)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE TARN_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE tarn_flags room_${TEST_ROOM} ${TEST_LIBRARIES} cmocka
    Threads::Threads)
  add_test(NAME ${TEST_LABEL}/${name} COMMAND ${name})
  set_tests_properties(${TEST_LABEL}/${name} PROPERTIES LABELS ${TEST_LABEL} TIMEOUT 900
    ENVIRONMENT "${TARN_TEST_ENVIRONMENT}")
endfunction()

# tarn_source_room(out file): the room that the file's first line asks for, as  /* room: X */ .
function(tarn_source_room out file)
  file(STRINGS ${file} first LIMIT_COUNT 1)
  if(NOT first MATCHES "room: *([a-z]+)")
    message(FATAL_ERROR "${file}: the first line must say /* room: X */")
  endif()
  set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()
