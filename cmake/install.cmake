# make install: headers, both libraries, a pkg-config file, a CMake package, the program with its man page and
# completions.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/tarn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS tarn_shared tarn_static
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

# The pkg-config file finds its prefix from where it lies, so that the installed folder may be moved.
file(RELATIVE_PATH PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" PC_PREFIX "${PC_PREFIX}")
configure_file(cmake/tarn.pc.in ${CMAKE_BINARY_DIR}/tarn.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tarn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(cmake/tarn-config.cmake.in ${CMAKE_BINARY_DIR}/tarn-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tarn
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tarn-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tarn-config.cmake ${CMAKE_BINARY_DIR}/tarn-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tarn)

if(TARGET tarn_program)
  install(TARGETS tarn_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${CMAKE_BINARY_DIR}/tarn.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
  install(FILES ${CMAKE_BINARY_DIR}/completions/tarn.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tarn OPTIONAL)
  install(FILES ${CMAKE_BINARY_DIR}/completions/_tarn
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
  install(FILES ${CMAKE_BINARY_DIR}/completions/tarn.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
endif()
