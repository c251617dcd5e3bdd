#pragma once
// Handling of files that become shorter while they are mapped. The kernel reports this by SIGBUS,
// which would end the program without a message. Here it ends with the file's name. A system call
// that reads such a mapping fails with EFAULT.

#include <cstddef>
#include <string>

namespace longhaul {

struct WatchedMapping;

/// Registers the mapping: a fault in [address, address + bytes) ends the program with a line that
/// names `file`.
WatchedMapping* watch_mapping(const void* address, size_t bytes, const std::string& file);
/// Call after a system call that read from `address` failed with EFAULT. Throws UserError with the
/// same line if the address lies in such a mapping; returns if it does not.
void refuse_shrunk_file(const void* address);
/// Call before unmapping. Null is allowed.
void forget_mapping(WatchedMapping* mapping);

}  // namespace longhaul
