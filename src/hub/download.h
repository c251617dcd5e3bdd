#pragma once
// One file from a server, in pieces if need be: what has arrived stays until the rest is there.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/cancel.h"

namespace longhaul {

struct Download {
  std::string url;
  std::string token;
  std::filesystem::path target;
  int64_t bytes = -1;  ///< -1: unknown
  std::string sha256;  ///< empty: the server names none
  const CancelFlag* cancel = nullptr;
  std::function<void(int64_t done, int64_t total)> progress;  ///< total is -1 while it is unknown
  std::function<void(const std::string& problem)> retrying;
};

enum class DownloadEnd { kDone, kCancelled };

/// The file appears at its place once it is complete and checked. Until then its bytes lie beside
/// it as .NAME.part; the next call resumes from them where the server can send the rest (without a
/// sha256 only if the server's entity tag is still the same). A connection that breaks is tried
/// again a few times. Throws UserError: the server refuses, length or sha256 are wrong (the part is
/// removed then), the disk is full.
DownloadEnd download(const Download& what);

/// Bytes that have arrived of a file of that name.
int64_t bytes_arrived(const std::filesystem::path& target);

}  // namespace longhaul
