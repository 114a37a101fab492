# System libraries (Debian packages) and the sources that tools/setup fetched into .deps/.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(BROTLI REQUIRED IMPORTED_TARGET libbrotlidec libbrotlienc)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
find_library(SNAPPY_LIBRARY snappy REQUIRED)

set(TARN_DEPS "${CMAKE_SOURCE_DIR}/.deps" CACHE PATH "where tools/setup put third-party sources")
foreach(source IN ITEMS croaring/roaring.c nanoarrow/src/array.c)
  if(NOT EXISTS ${TARN_DEPS}/${source})
    message(FATAL_ERROR "${TARN_DEPS}/${source} is not there: run tools/setup build")
  endif()
endforeach()

# CRoaring, one file; hidden so that two copies can live in one process. Its own checks for what the processor can do
# pick the code at run time.
add_library(tarn_roaring OBJECT ${TARN_DEPS}/croaring/roaring.c)
target_include_directories(tarn_roaring SYSTEM PUBLIC ${TARN_DEPS}/croaring)
target_compile_options(tarn_roaring PRIVATE -w -D_GNU_SOURCE)
target_compile_definitions(tarn_roaring PUBLIC CROARING_ATOMIC_IMPL=1)
if(TARN_SANITIZE STREQUAL "address")
  target_compile_options(tarn_roaring PRIVATE -fsanitize=address)
endif()

# nanoarrow with its IPC part, namespaced (TarnNa); for the program and the tests, not in the library.
file(GLOB NANOARROW_SOURCES ${TARN_DEPS}/nanoarrow/src/*.c)
add_library(tarn_nanoarrow STATIC ${NANOARROW_SOURCES})
target_include_directories(tarn_nanoarrow SYSTEM PUBLIC ${TARN_DEPS}/nanoarrow/include)
target_compile_options(tarn_nanoarrow PRIVATE -w)
