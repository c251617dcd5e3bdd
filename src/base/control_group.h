#pragma once
// Limits of the control groups around this process (Linux, versions 1 and 2, also both at once):
// its own group and every group above it. The kernel enforces each of them.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace longhaul {

/// The folders of the groups in which `controller` (memory, pids) limits this process, innermost
/// first. `proc` contains this process's `cgroup` and `mountinfo` (/proc/self).
struct ControlGroup {
  std::filesystem::path folder;
  bool v2 = false;
};
std::vector<ControlGroup> control_groups(const std::string& controller,
                                         const std::filesystem::path& proc = "/proc/self");

/// Bytes left below the limit of the tightest group; empty if no group has a limit. In version 2
/// memory.high counts as a limit like memory.max: a process that exceeds it is not killed but
/// slowed down almost to a halt.
std::optional<size_t> control_group_room(const std::filesystem::path& proc = "/proc/self");

/// Most processes and threads that the tightest group allows; empty without a limit.
std::optional<int64_t> control_group_most_threads(const std::filesystem::path& proc = "/proc/self");

/// Bytes of a control group that the kernel cannot reclaim. `current`, the group's usage, includes
/// the page cache, which the kernel drops before it refuses memory, even pages that were read
/// several times (such as mapped weights read by an earlier run in the group). The size of that
/// cache is in `stat`, the text of memory.stat: active_file and inactive_file, in version 1
/// total_active_file and total_inactive_file. Files in a tmpfs are not included in it.
size_t held_by_control_group(size_t current, const std::string& stat, bool v2);

}  // namespace longhaul
