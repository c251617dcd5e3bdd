#pragma once
// The beginning of a session file, for sequence_file.cc and session_about.cc.

#include <cstdint>
#include <string>

namespace longhaul {

/// Version of a file that states facts about its contents (session_about.h).
inline constexpr uint32_t kVersionWithAbout = 11;

/// The first bytes of a file of version 11. The facts follow, as JSON.
struct [[gnu::packed]] SessionFileStart {
  uint64_t magic = 0;
  uint32_t version = 0;
  uint32_t devices = 0;
  uint64_t about_bytes = 0;
};

/// SessionParent::name without a parent begins with this mark if the facts follow it.
inline const std::string kAboutMark = "\nabout\n";

}  // namespace longhaul
