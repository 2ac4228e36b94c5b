# Parts of io that need an optional library: addon/io/**/plugin_NAME.cpp becomes Release/plugins/NAME.so,
# opened with dlopen. Without its packages a plug-in is left out and the rest is built.
find_package(PkgConfig QUIET)
set(plugin_directory ${CMAKE_BINARY_DIR}/Release/plugins)

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
  target_link_libraries(plugin_${name} PRIVATE framelane_core PkgConfig::${name})
  target_link_options(plugin_${name} PRIVATE -Wl,--exclude-libs,ALL $<$<CONFIG:Release>:-s>)
endfunction()

framelane_plugin(ffmpeg libavformat libavcodec libavutil libswscale)
