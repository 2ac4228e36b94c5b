# Parts of io that need an optional library: addon/io/**/plugin_NAME.cpp becomes Release/plugins/NAME.so,
# opened with dlopen. Without its packages a plug-in is left out and the rest is built.
find_package(PkgConfig QUIET)
set(plugin_directory ${CMAKE_BINARY_DIR}/Release/plugins)

# What stands between a plug-in and its host, as one digest: both are built with it, and it is compared at load.
file(GLOB seam_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/addon/core/*.h ${CMAKE_SOURCE_DIR}/addon/core/*.def)
list(APPEND seam_headers ${CMAKE_SOURCE_DIR}/addon/io/make.h ${CMAKE_SOURCE_DIR}/addon/io/phase.h
  ${CMAKE_SOURCE_DIR}/addon/io/plugin.h)
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${seam_headers})
set(seam "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${FRAMELANE_SANITIZE}")
foreach(header ${seam_headers})
  file(SHA256 ${header} digest)
  string(APPEND seam " ${digest}")
endforeach()
string(SHA256 plugin_abi "${seam}")
set_source_files_properties(${CMAKE_SOURCE_DIR}/addon/io/load_plugin.cpp
  PROPERTIES COMPILE_DEFINITIONS "FRAMELANE_PLUGIN_ABI=\"${plugin_abi}\"")

function(framelane_plugin name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/addon/io/plugin_${name}*.cpp)
  if(NOT sources)
    return()
  endif()
  if(PkgConfig_FOUND)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${ARGN})
  endif()
  if(NOT ${name}_FOUND)
    message(STATUS "framelane: no ${name} plug-in (${ARGN} not found)")
    file(REMOVE ${plugin_directory}/${name}.so)
    return()
  endif()
  add_library(plugin_${name} MODULE ${sources})
  set_target_properties(plugin_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${plugin_directory})
  target_include_directories(plugin_${name} PRIVATE ${CMAKE_BINARY_DIR}/layers/io)
  target_compile_definitions(plugin_${name} PRIVATE FRAMELANE_PLUGIN_ABI="${plugin_abi}" __STDC_CONSTANT_MACROS)
  target_link_libraries(plugin_${name} PRIVATE framelane_io PkgConfig::${name})
  target_link_options(plugin_${name} PRIVATE -Wl,--exclude-libs,ALL $<$<CONFIG:Release>:-s>)
endfunction()

framelane_plugin(ffmpeg libavformat libavcodec libavutil libswscale)
