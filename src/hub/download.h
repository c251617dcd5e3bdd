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
  std::function<void(int64_t done, int64_t total)> progress;  ///< total is -1 while unknown
  std::function<void(const std::string& problem)> retrying;
};

enum class DownloadEnd { kDone, kCancelled };

/// The file appears at its place when it is complete and checked. Until then its bytes are in
/// .NAME.part beside it, which is locked. The next call resumes from them if the server can send
/// the rest (without a sha256 only if the server's entity tag has not changed). If the server sends
/// another part than the rest, the whole file is fetched. A connection that breaks or is too slow
/// is retried a few times. Throws UserError if the server refuses, length or sha256 are wrong (the
/// part is then removed), the disk is full, another process fetches the same file, or the part is a
/// link or no regular file.
DownloadEnd download(const Download& what);

/// Number of bytes received for a file of that name.
int64_t bytes_arrived(const std::filesystem::path& target);

}  // namespace longhaul
