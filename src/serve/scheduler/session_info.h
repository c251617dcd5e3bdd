#pragma once
// Defines the properties of named sessions that clients see.

#include <cstdint>
#include <string>

namespace longhaul::serve {

struct SessionInfo {
  std::string name, method;
  int64_t tokens = 0;
  size_t kv_bytes = 0;  ///< bytes in memory
  bool saved = false;   ///< whether the session has been saved to disk under this name
  bool in_memory = false;
};

/// The result of saving or restoring a session.
struct SessionAnswer {
  int64_t tokens = 0;
  size_t bytes = 0;   ///< size of the file in bytes
  std::string error;  ///< error message; empty: success
  bool missing = false;
};

}  // namespace longhaul::serve
