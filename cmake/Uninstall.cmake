# Removes the files that the last `cmake --install` wrote, and the folders of Longhaul that are empty then.

if(NOT EXISTS ${MANIFEST})
  message(FATAL_ERROR "nothing is installed from this folder: ${MANIFEST} is missing")
endif()
file(STRINGS ${MANIFEST} files)
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
