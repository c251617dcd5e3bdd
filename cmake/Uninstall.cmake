# Removes the files that the last `cmake --install` wrote, and the folders of Longhaul that are empty then.

file(GLOB manifests ${BUILD}/install_manifest*.txt)  # one for each component that was installed alone
if(NOT manifests)
  message(FATAL_ERROR "nothing is installed from this folder: ${BUILD}/install_manifest.txt is missing")
endif()
foreach(manifest ${manifests})
  file(STRINGS ${manifest} listed)
  list(APPEND files ${listed})
endforeach()
foreach(file ${files})
  if(EXISTS $ENV{DESTDIR}${file} OR IS_SYMLINK $ENV{DESTDIR}${file})
    file(REMOVE $ENV{DESTDIR}${file})
  endif()
  # Climbs while the folder is one of ours and is empty.
  get_filename_component(folder ${file} DIRECTORY)
  while(folder MATCHES "/longhaul(/|$)" AND EXISTS $ENV{DESTDIR}${folder})
    file(GLOB_RECURSE left $ENV{DESTDIR}${folder}/*)  # files only
    if(left)
      break()
    endif()
    file(REMOVE_RECURSE $ENV{DESTDIR}${folder})
    get_filename_component(folder ${folder} DIRECTORY)
  endwhile()
endforeach()
