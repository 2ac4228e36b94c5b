# The Node addons. cmake-js passes CMAKE_JS_INC and CMAKE_JS_LIB.
if(NOT CMAKE_JS_INC)
  message(FATAL_ERROR "build the addon with `npm run build` (cmake-js passes Node's headers)")
endif()
file(GLOB_RECURSE node_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/addon/node/*.cpp)
file(GLOB_RECURSE notify_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/addon/notify/*.cpp)
set(module_directory ${CMAKE_BINARY_DIR}/Release)

function(framelane_node_module target output)
  add_library(${target} MODULE ${ARGN} ${CMAKE_JS_SRC})
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX ".node" OUTPUT_NAME ${output}
    LIBRARY_OUTPUT_DIRECTORY ${module_directory}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "")
  target_include_directories(${target} SYSTEM PRIVATE ${CMAKE_JS_INC} ${CMAKE_SOURCE_DIR}/node_modules/node-addon-api)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/addon)
  target_compile_definitions(${target} PRIVATE NAPI_VERSION=8 NODE_ADDON_API_DISABLE_DEPRECATED NAPI_CPP_EXCEPTIONS)
  target_link_libraries(${target} PRIVATE framelane_options ${CMAKE_JS_LIB})
  # Names from the static libraries inside (libstdc++ is shared) stay inside; Node resolves the napi_ ones at load.
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections $<$<CONFIG:Release>:-s>)
endfunction()

if(node_sources)
  framelane_node_module(framelane framelane ${node_sources})
  target_link_libraries(framelane PRIVATE framelane_core framelane_cuda framelane_halide framelane_io)
  set_target_properties(framelane PROPERTIES INSTALL_RPATH "${HALIDE_RPATH}")
endif()
if(notify_sources)
  framelane_node_module(framelane_system framelane_system ${notify_sources})
endif()
