# What `cmake --install` writes, in two components: `program` (program, manual, documentation) and `data` (models and texts
# for trying and measuring). CPack makes archives and packages of them. The target `uninstall` removes what the last
# installation wrote.

include(GNUInstallDirs)

option(LONGHAUL_STRIP "cmake --install strips the program" ON)
if(LONGHAUL_STRIP)
  install(CODE "set(CMAKE_INSTALL_DO_STRIP TRUE)" COMPONENT program)
endif()
install(TARGETS longhaul RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/models/profiles DESTINATION ${CMAKE_INSTALL_DATADIR}/longhaul/models COMPONENT program)
install(FILES ${CMAKE_SOURCE_DIR}/models/catalogue.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/longhaul/models COMPONENT program)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY docs examples packaging DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program
        PATTERN "*.jsonl.gz" EXCLUDE PATTERN "run.json" EXCLUDE PATTERN "claims" EXCLUDE)  # records
install(FILES tools/packages.sh DESTINATION ${CMAKE_INSTALL_DOCDIR}/tools COMPONENT program)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/models/nano ${CMAKE_SOURCE_DIR}/models/smollm2-32k
        DESTINATION ${CMAKE_INSTALL_DATADIR}/longhaul/models COMPONENT data)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/data DESTINATION ${CMAKE_INSTALL_DATADIR}/longhaul COMPONENT data)

# The manual and the completion come from the program's own --help. A program for another machine cannot be run here.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT CMAKE_CROSSCOMPILING)
  set(manual ${CMAKE_BINARY_DIR}/manual)
  install(CODE "execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/make_manual.py
                                        $<TARGET_FILE:longhaul> ${manual} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
  install(DIRECTORY ${manual}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
  install(FILES ${manual}/bash/longhaul DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
  install(FILES ${manual}/zsh/_longhaul DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program)
  install(FILES ${manual}/fish/longhaul.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          COMPONENT program)
else()
  message(WARNING "without Python 3, or in a cross build, the manual and the completion are not installed")
endif()

add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR}
                                    -P ${CMAKE_SOURCE_DIR}/cmake/Uninstall.cmake)

set(CPACK_PACKAGE_NAME longhaul)
set(CPACK_PACKAGE_VENDOR "Longhaul maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Answers questions about very long texts with language models")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR TXZ)
set(CPACK_SYSTEM_NAME ${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_COMPONENTS_ALL program data)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0")
include(CPack)
