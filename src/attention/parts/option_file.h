#pragma once
// Files that options name.

#include <string_view>

#include "base/error.h"

namespace longhaul {

/// What `read` makes of the file that option `key` names. Its UserErrors begin with the file's
/// name; here they get the option before it: "--attention duo: gates=heads.tsv: ...".
template <class Read>
auto read_option_file(std::string_view method, std::string_view key, Read&& read) {
  try {
    return read();
  } catch (const UserError& problem) {
    user_error("--attention {}: {}={}", method, key, problem.what());
  }
}

}  // namespace longhaul
