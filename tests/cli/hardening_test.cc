// Hardening of the build, which limits attackers who find a memory error.
#ifdef LONGHAUL_HARDENED

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace longhaul {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The program's file: headers and dynamic section.
class Binary {
 public:
  Binary() : bytes_(bytes_of(LONGHAUL_BINARY)) {}

  Elf64_Ehdr header() const { return at<Elf64_Ehdr>(0); }

  /// Returns nothing if there is no segment of the type.
  std::vector<Elf64_Phdr> segments(uint32_t type) const {
    std::vector<Elf64_Phdr> found;
    for (size_t i = 0; i < header().e_phnum; ++i) {
      const auto segment = at<Elf64_Phdr>(header().e_phoff + i * sizeof(Elf64_Phdr));
      if (segment.p_type == type) found.push_back(segment);
    }
    return found;
  }

  uint64_t dynamic(int64_t tag) const {
    for (const Elf64_Phdr& segment : segments(PT_DYNAMIC)) {
      for (size_t i = 0; i < segment.p_filesz / sizeof(Elf64_Dyn); ++i) {
        const auto entry = at<Elf64_Dyn>(segment.p_offset + i * sizeof(Elf64_Dyn));
        if (entry.d_tag == tag) return entry.d_un.d_val;
      }
    }
    return 0;
  }

  bool names(const char* symbol) const { return bytes_.find(symbol) != std::string::npos; }

 private:
  template <class T>
  T at(size_t offset) const {
    T value{};
    if (offset + sizeof value <= bytes_.size()) std::memcpy(&value, &bytes_[offset], sizeof value);
    return value;
  }

  std::string bytes_;
};

TEST(Hardening, TheProgramLiesAtAnotherPlaceInEachRun) {
  const Binary binary;
  EXPECT_EQ(binary.header().e_type, ET_DYN);
  EXPECT_NE(binary.dynamic(DT_FLAGS_1) & DF_1_PIE, 0u);
}

TEST(Hardening, TablesOfFunctionsAreReadOnlyOnceItRuns) {
  const Binary binary;
  EXPECT_EQ(binary.segments(PT_GNU_RELRO).size(), 1u);
  EXPECT_TRUE((binary.dynamic(DT_FLAGS) & DF_BIND_NOW) != 0 ||
              (binary.dynamic(DT_FLAGS_1) & DF_1_NOW) != 0);
}

TEST(Hardening, NothingCanBeWrittenAndRun) {
  const Binary binary;
  const auto stacks = binary.segments(PT_GNU_STACK);
  ASSERT_EQ(stacks.size(), 1u);
  EXPECT_EQ(stacks[0].p_flags & PF_X, 0u);
  for (const Elf64_Phdr& segment : binary.segments(PT_LOAD)) {
    EXPECT_NE(segment.p_flags & (PF_W | PF_X), uint32_t{PF_W | PF_X});
  }
}

TEST(Hardening, StacksHaveCanariesAndCopiesAreChecked) {
  const Binary binary;
  EXPECT_TRUE(binary.names("__stack_chk_fail"));
  EXPECT_TRUE(binary.names("__memcpy_chk") || binary.names("__read_chk") ||
              binary.names("__fread_chk") || binary.names("__strncpy_chk"));
}

/// Checks the library of every room, which the build leaves beside the program.
TEST(Hardening, EveryRoomHasCanariesAndChecksIndices) {
  const fs::path build = fs::path(LONGHAUL_BINARY).parent_path().parent_path().parent_path();
  int rooms = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(build)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("liblh_") || name == "liblh_kernels.a") continue;
    const std::string bytes = bytes_of(entry.path());
    EXPECT_NE(bytes.find("__stack_chk_fail"), std::string::npos) << name;
    EXPECT_NE(bytes.find("__glibcxx_assert_fail"), std::string::npos) << name;
    ++rooms;
  }
  EXPECT_GE(rooms, 16);
}

}  // namespace
}  // namespace longhaul

#endif
