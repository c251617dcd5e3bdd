#include "base/control_group.h"

#include <gtest/gtest.h>

#include <fstream>

#include "format/temp_folder.h"

namespace longhaul {
namespace {

constexpr const char* kStat =
    "anon 1048576\n"
    "file 9000000\n"
    "inactive_anon 4096\n"
    "active_file 1000000\n"
    "inactive_file 8000000\n"
    "slab 5\n";

TEST(ControlGroup, PageCacheIsNotHeldHoweverOftenItWasRead) {
  EXPECT_EQ(held_by_control_group(10'000'000, kStat, true), 1'000'000u);
  EXPECT_EQ(held_by_control_group(9'000'000, kStat, true), 0u);
  EXPECT_EQ(held_by_control_group(7'000'000, kStat, true), 0u) << "the files are read one by one";
  // In version 1, figures without "total_" exclude the groups below.
  EXPECT_EQ(held_by_control_group(10'000'000, kStat, false), 10'000'000u);
  EXPECT_EQ(
      held_by_control_group(5'000, "total_active_file 1000\ntotal_inactive_file 2000\n", false),
      2'000u);
}

TEST(ControlGroup, WithoutTheFigureAllIsHeld) {
  for (const char* stat :
       {"", "anon 12\nfile 7\n", "inactive_file\n", "inactive_file x\n", "inactive_files 4096\n"}) {
    EXPECT_EQ(held_by_control_group(5000, stat, true), 5000u) << stat;
  }
}

/// A fake system with its own /proc/self and groups, as files.
class FakeSystem {
 public:
  explicit FakeSystem(const std::string& memberships) { write("proc/cgroup", memberships); }

  /// Mounts `root` of a hierarchy at `folder`, below this system's own.
  void mount(const std::string& root, const std::string& folder, const std::string& type,
             const std::string& options) {
    mounts_ += "35 31 0:32 " + root + " " + (folder_.path() / folder).string() +
               " rw,relatime shared:9 - " + type + " cgroup rw," + options + "\n";
    write("proc/mountinfo", mounts_);
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
  }
  void limit_v2(const std::string& group, const std::string& most, const std::string& current) {
    write(group + "/memory.max", most + "\n");
    write(group + "/memory.current", current + "\n");
    write(group + "/memory.stat", "anon 7\nactive_file 300\ninactive_file 700\n");
  }
  void limit_v1(const std::string& group, const std::string& most, const std::string& current) {
    write(group + "/memory.limit_in_bytes", most + "\n");
    write(group + "/memory.usage_in_bytes", current + "\n");
    write(group + "/memory.stat",
          "inactive_file 3\ntotal_inactive_file 600\ntotal_active_file 400\n");
  }
  std::optional<size_t> room() const { return control_group_room(folder_.path() / "proc"); }
  std::optional<int64_t> threads() const {
    return control_group_most_threads(folder_.path() / "proc");
  }

 private:
  testing_support::TempFolder folder_;
  std::string mounts_;
};

constexpr const char* kNoLimitV1 = "9223372036854771712";

TEST(ControlGroup, TheTightestOfNestedGroupsOfVersionTwoCounts) {
  FakeSystem system("0::/user.slice/job\n");
  system.mount("/", "cg", "cgroup2", "nsdelegate");
  system.limit_v2("cg/user.slice/job", "max", "50000");
  system.limit_v2("cg/user.slice", "90000", "61000");
  EXPECT_EQ(system.room(), 30'000u);  // the 1,000 can be dropped
  system.limit_v2("cg/user.slice/job", "60000", "50000");
  EXPECT_EQ(system.room(), 11'000u);
  system.limit_v2("cg/user.slice/job", "40000", "50000");
  EXPECT_EQ(system.room(), 0u);
}

/// Beyond memory.high the kernel slows a process down to a hundredth or less.
TEST(ControlGroup, WhatSlowsDownIsALimitToo) {
  FakeSystem system("0::/user.slice/job\n");
  system.mount("/", "cg", "cgroup2", "nsdelegate");
  system.limit_v2("cg/user.slice/job", "max", "50000");
  system.limit_v2("cg/user.slice", "90000", "61000");
  system.write("cg/user.slice/job/memory.high", "max\n");
  EXPECT_EQ(system.room(), 30'000u);
  system.write("cg/user.slice/memory.high", "70000\n");
  EXPECT_EQ(system.room(), 10'000u);
  system.write("cg/user.slice/job/memory.high", "52000\n");
  EXPECT_EQ(system.room(), 3'000u);
}

TEST(ControlGroup, VersionOneNamesItsControllers) {
  FakeSystem system("9:name=systemd:/\n5:cpu,memory:/a/b\n3:memory_other:/x\n");
  system.mount("/", "other", "cgroup", "cpuset");
  system.mount("/", "mem", "cgroup", "cpu,memory");
  system.limit_v1("mem/a/b", kNoLimitV1, "5000");
  system.limit_v1("mem/a", "20000", "6000");
  system.limit_v1("mem", kNoLimitV1, "900000");
  EXPECT_EQ(system.room(), 15'000u);
}

TEST(ControlGroup, BothVersionsAtOnce) {
  FakeSystem system("4:memory:/a\n0::/b\n");
  system.mount("/", "mem", "cgroup", "memory");
  system.mount("/", "uni", "cgroup2", "");
  system.limit_v1("mem/a", "20000", "6000");
  EXPECT_EQ(system.room(), 15'000u);
  system.limit_v2("uni/b", "10000", "6000");
  EXPECT_EQ(system.room(), 5000u);
}

TEST(ControlGroup, ContainersSeeTheirGroupAsTheMount) {
  FakeSystem system("4:memory:/docker/abc/inner\n0::/docker/abc\n");
  system.mount("/docker/abc", "mem", "cgroup", "memory");
  system.mount("/", "uni\\040with", "cgroup2", "");  // a blank in the name
  system.limit_v1("mem/inner", "20000", "6000");
  EXPECT_EQ(system.room(), 15'000u);
  system.limit_v1("mem", "10000", "6000");
  EXPECT_EQ(system.room(), 5000u);
  system.limit_v2("uni with/docker", "7000", "3000");
  EXPECT_EQ(system.room(), 5000u);
  system.limit_v2("uni with/docker", "7000", "4000");
  EXPECT_EQ(system.room(), 4000u);
}

TEST(ControlGroup, WithoutLimitsOrGroupsThereIsNone) {
  FakeSystem system("0::/a\nno line of a group\n");
  EXPECT_EQ(system.room(), std::nullopt);
  system.mount("/", "cg", "cgroup2", "");
  EXPECT_EQ(system.room(), std::nullopt);
  system.limit_v2("cg/a", "max", "5");
  EXPECT_EQ(system.room(), std::nullopt);
  FakeSystem v1("4:memory:/../..\n");
  v1.mount("/", "mem", "cgroup", "memory");
  v1.limit_v1("mem", kNoLimitV1, "5");
  EXPECT_EQ(v1.room(), std::nullopt);
}

TEST(ControlGroup, ThreadsHaveTheirLimitToo) {
  FakeSystem system("8:pids:/a\n0::/a\n");
  system.mount("/", "pids", "cgroup", "pids");
  EXPECT_EQ(system.threads(), std::nullopt);
  system.write("pids/a/pids.max", "max\n");
  EXPECT_EQ(system.threads(), std::nullopt);
  system.write("pids/pids.max", "300\n");
  EXPECT_EQ(system.threads(), 300);
}

}  // namespace
}  // namespace longhaul
