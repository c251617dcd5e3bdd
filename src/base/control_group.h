#pragma once
// Reads the limits of this process's control groups (cgroups) on Linux. It supports cgroup version
// 1, version 2, and systems that use both. The kernel enforces the limits of the process's own
// group and of every group above it.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace longhaul {

/// The folder of a control group.
struct ControlGroup {
  std::filesystem::path folder;
  bool v2 = false;
};
/// Returns the folders of the groups in which `controller` (memory or pids) limits this process.
/// The innermost group comes first. `proc` is the folder with the files `cgroup` and `mountinfo` of
/// this process (/proc/self).
std::vector<ControlGroup> control_groups(const std::string& controller,
                                         const std::filesystem::path& proc = "/proc/self");

/// Returns the bytes that the process may still allocate below the limit of the tightest group.
/// Returns nothing if no group has a limit. In version 2, memory.high is treated as a limit like
/// memory.max. The kernel does not kill a process that exceeds memory.high, but it slows the
/// process down almost to a halt.
std::optional<size_t> control_group_room(const std::filesystem::path& proc = "/proc/self");

/// Returns the largest number of processes and threads that the tightest group allows. Returns
/// nothing if no group has a limit.
std::optional<int64_t> control_group_most_threads(const std::filesystem::path& proc = "/proc/self");

/// Returns how much memory of a control group the kernel cannot reclaim, in bytes. `current` is the
/// memory usage of the group, which includes the page cache. Before the kernel refuses memory, it
/// drops the page cache. It also drops pages that were read several times, such as mapped weights
/// of an earlier run in the group. `stat` is the text of memory.stat. The size of the page cache is
/// in the lines active_file and inactive_file, or in version 1 total_active_file and
/// total_inactive_file. These sizes do not include files in a tmpfs.
size_t held_by_control_group(size_t current, const std::string& stat, bool v2);

}  // namespace longhaul
