#pragma once
// Named sessions as clients see them.

#include <cstdint>
#include <string>

namespace longhaul::serve {

struct SessionInfo {
  std::string name, method;
  int64_t tokens = 0;
  size_t kv_bytes = 0;  ///< in memory
  bool saved = false;   ///< under this name
  bool in_memory = false;
};

/// The outcome of saving or restoring.
struct SessionAnswer {
  int64_t tokens = 0;
  size_t bytes = 0;   ///< size of the file
  std::string error;  ///< empty: done
  bool missing = false;
};

}  // namespace longhaul::serve
