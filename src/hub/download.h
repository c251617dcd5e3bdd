#pragma once
// Downloads a file. An interrupted download can be resumed, because received bytes are kept.

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
  int64_t bytes = -1;  ///< expected size; -1: unknown
  std::string sha256;  ///< expected hash; empty: unknown
  const CancelFlag* cancel = nullptr;
  HttpLimits limits = {};
  /// Total is -1 while the size is unknown.
  std::function<void(int64_t done, int64_t total)> progress;
  std::function<void(const std::string& problem)> retrying;
};

enum class DownloadEnd { kDone, kCancelled };

/// Downloads a file. The file gets its final name when it is complete and verified. Until then, its
/// bytes are in .NAME.part in the same folder, which is locked. The next call resumes from these
/// bytes if the server can send the rest. Without a sha256, it resumes only if the server's entity
/// tag (ETag) has not changed. If the server does not send exactly the rest, the whole file is
/// fetched. A connection that breaks or is too slow is retried a few times. Throws UserError if the
/// server refuses, the length or sha256 is wrong (the part is then removed), the disk is full,
/// another process fetches the same file, or the part is a link or not a regular file.
DownloadEnd download(const Download& what);

/// Returns the number of bytes that have been received for a file of that name.
int64_t bytes_arrived(const std::filesystem::path& target);

}  // namespace longhaul
