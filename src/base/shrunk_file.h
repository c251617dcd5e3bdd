#pragma once
// Handles files that become shorter while they are mapped. Reading the missing part of a mapping
// causes SIGBUS, which would end the program without a message. With the functions of this file,
// the program ends with a message that names the file. A system call that reads the missing part
// does not cause SIGBUS, but fails with EFAULT.

#include <cstddef>
#include <string>

namespace longhaul {

struct WatchedMapping;

/// Registers a mapping. A fault in [address, address + bytes) then ends the program with a message
/// that names `file`.
WatchedMapping* watch_mapping(const void* address, size_t bytes, const std::string& file);
/// If `address` is in a registered mapping, throws UserError with the message that names its file.
/// Otherwise does nothing. Call it after a system call that read from `address` has failed with
/// EFAULT.
void refuse_shrunk_file(const void* address);
/// Removes a mapping from the register. Call it before unmapping. `mapping` may be null.
void forget_mapping(WatchedMapping* mapping);

}  // namespace longhaul
