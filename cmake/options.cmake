# How everything is compiled.
option(TARN_TESTS "build the tests" ON)
option(TARN_BENCH "build the benchmark programs" OFF)
option(TARN_FUZZ "build the fuzzers (clang)" OFF)
set(TARN_SANITIZE "" CACHE STRING "address (with undefined), thread, or empty")

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(tarn_flags INTERFACE)
target_compile_options(tarn_flags INTERFACE -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes
  -Wmissing-prototypes -Wpointer-arith -Wvla -fno-strict-aliasing -fno-math-errno)
# Tables of structs leave what is zero unsaid.
target_compile_options(tarn_flags INTERFACE -Wno-missing-field-initializers)
# What gcc guesses from inlined code at -O3; -Wuninitialized and clang's own check stay.
target_compile_options(tarn_flags INTERFACE $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  $<$<C_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
target_compile_definitions(tarn_flags INTERFACE _POSIX_C_SOURCE=200809L
  TARN_VERSION_MAJOR=${PROJECT_VERSION_MAJOR} TARN_VERSION_MINOR=${PROJECT_VERSION_MINOR}
  TARN_VERSION_PATCH=${PROJECT_VERSION_PATCH})

# What tests and the program get in their environment under a sanitizer.
set(TARN_TEST_ENVIRONMENT TZ=UTC)
if(TARN_SANITIZE STREQUAL "address")
  target_compile_options(tarn_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(tarn_flags INTERFACE -fsanitize=address,undefined)
  list(APPEND TARN_TEST_ENVIRONMENT ASAN_OPTIONS=detect_leaks=1:abort_on_error=1:allocator_may_return_null=1
    UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1)
elseif(TARN_SANITIZE STREQUAL "thread")
  target_compile_options(tarn_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(tarn_flags INTERFACE -fsanitize=thread)
  list(APPEND TARN_TEST_ENVIRONMENT TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1)
elseif(TARN_SANITIZE)
  message(FATAL_ERROR "TARN_SANITIZE is '${TARN_SANITIZE}': expected address, thread or nothing")
endif()
if(TARN_FUZZ)
  target_compile_options(tarn_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
