# Halide as an imported target; its own CMake package needs CMake 3.28.
find_path(HALIDE_INCLUDE Halide.h PATHS ${HALIDE_ROOT}/include REQUIRED NO_DEFAULT_PATH)
find_library(HALIDE_LIBRARY Halide PATHS ${HALIDE_ROOT}/lib64 ${HALIDE_ROOT}/lib REQUIRED NO_DEFAULT_PATH)
add_library(Halide::Halide SHARED IMPORTED)
set_target_properties(Halide::Halide PROPERTIES
  IMPORTED_LOCATION ${HALIDE_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${HALIDE_INCLUDE}
  INTERFACE_COMPILE_DEFINITIONS "HALIDE_WITH_EXCEPTIONS;HALIDE_ENABLE_RTTI")

# HALIDE_RPATH: where a program in Release/ finds it. In a bundle (npm run bundle) it lies in lib/. A Halide inside the
# project moves with it; another one stays where it is.
get_filename_component(halide_directory ${HALIDE_LIBRARY} DIRECTORY)
string(FIND ${halide_directory} ${CMAKE_SOURCE_DIR}/ inside)
if(inside EQUAL 0)
  file(RELATIVE_PATH halide_relative ${CMAKE_BINARY_DIR}/Release ${halide_directory})
  set(halide_directory "$ORIGIN/${halide_relative}")
endif()
set(HALIDE_RPATH "$ORIGIN/../../lib;${halide_directory}")
