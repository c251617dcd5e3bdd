#pragma once
// A file that becomes shorter while it is mapped: the kernel tells by SIGBUS, which would end the
// program without a word. Here it ends with the file's name.

#include <cstddef>
#include <string>

namespace longhaul {

struct WatchedMapping;

/// From now on a fault in [address, address + bytes) ends the program with a line that names
/// `file`.
WatchedMapping* watch_mapping(const void* address, size_t bytes, const std::string& file);
/// Before the mapping is taken away. Null is nothing.
void forget_mapping(WatchedMapping* mapping);

}  // namespace longhaul
