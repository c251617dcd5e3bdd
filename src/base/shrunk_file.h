#pragma once
// Handles files that become shorter while they are mapped. Reading the missing part of a mapping
// causes SIGBUS, which would end the program without a message. With the functions of this file the
// program ends with a message that names the file. A system call that reads the missing part fails
// with EFAULT.

#include <cstddef>
#include <string>

namespace longhaul {

struct WatchedMapping;

/// Registers a mapping. A fault in [address, address + bytes) then ends the program with a line
/// that names `file`.
WatchedMapping* watch_mapping(const void* address, size_t bytes, const std::string& file);
/// Call it after a system call that read from `address` failed with EFAULT. Throws UserError with
/// the same line if the address lies in a registered mapping. Otherwise it returns.
void refuse_shrunk_file(const void* address);
/// Removes a mapping from the register. Call it before unmapping. Null is allowed.
void forget_mapping(WatchedMapping* mapping);

}  // namespace longhaul
