#include "base/thread_limits.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include "base/control_group.h"
#include "base/units.h"

namespace longhaul {

std::string thread_limits() {
  std::string text;
  rlimit limit{};
  if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    text = fmt::format("; this user may have {} threads (ulimit -u)", limit.rlim_cur);
  }
  if (const auto most = control_group_most_threads()) {
    text += fmt::format("; the control group may have {} (pids.max)", *most);
  }
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    text += fmt::format("; this process may have {} of addresses (ulimit -v)",
                        format_bytes(limit.rlim_cur));
  }
  return text;
}

}  // namespace longhaul
