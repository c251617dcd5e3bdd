#pragma once
// Download of one file, resumable: received bytes are kept until the rest arrives.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/cancel.h"
#include "hub/http.h"

namespace longhaul {

struct Download {
  std::string url;
  std::string token;
  std::filesystem::path target;
  int64_t bytes = -1;  ///< -1: unknown
  std::string sha256;  ///< empty: the server gives none
  const CancelFlag* cancel = nullptr;
  HttpLimits limits = {};
  std::function<void(int64_t done, int64_t total)> progress;  ///< total is -1 while it is unknown
  std::function<void(const std::string& problem)> retrying;
};

enum class DownloadEnd { kDone, kCancelled };

/// The file appears at its place once it is complete and checked. Until then its bytes lie beside
/// it as .NAME.part, which is locked; the next call resumes from them where the server sends the
/// rest (without a sha256 only if the server's entity tag is still the same; a rest that begins
/// elsewhere is thrown away, and all of it is fetched). A connection that breaks or is too slow is
/// tried again a few times. Throws UserError: the server refuses, length or sha256 are wrong (the
/// part is removed then), the disk is full, another process fetches the same file, the part is no
/// regular file of its own.
DownloadEnd download(const Download& what);

/// Number of bytes received for a file of that name.
int64_t bytes_arrived(const std::filesystem::path& target);

}  // namespace longhaul
