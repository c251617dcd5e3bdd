#pragma once
// What the control groups around this process allow (Linux, versions 1 and 2, also both at once):
// its own group and every group above it, each of which the kernel enforces.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace longhaul {

/// The folders of the groups that `controller` (memory, pids) is limited by, innermost first.
/// `proc` holds this process's `cgroup` and `mountinfo` (/proc/self).
struct ControlGroup {
  std::filesystem::path folder;
  bool v2 = false;
};
std::vector<ControlGroup> control_groups(const std::string& controller,
                                         const std::filesystem::path& proc = "/proc/self");

/// Bytes that the tightest of the groups has left below its limit; nothing where none has one. In
/// version 2 memory.high is a limit like memory.max: what grows beyond it is not ended but slowed
/// down until it hardly moves.
std::optional<size_t> control_group_room(const std::filesystem::path& proc = "/proc/self");

/// Most processes and threads that the tightest of the groups allows; nothing where none does.
std::optional<int64_t> control_group_most_threads(const std::filesystem::path& proc = "/proc/self");

/// Bytes of a control group that the kernel cannot take back. `current`, what the group uses,
/// counts the page cache too, and the kernel drops that before it refuses memory, also what was
/// read more than once (of a model's mapped weights: whatever an earlier run in the group has
/// read). Its size stands in `stat`, the text of memory.stat: active_file and inactive_file, in
/// version 1 total_active_file and total_inactive_file. Files in a tmpfs are not among it.
size_t held_by_control_group(size_t current, const std::string& stat, bool v2);

}  // namespace longhaul
