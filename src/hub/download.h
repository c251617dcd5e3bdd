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

/// The file is put in place whole and checked, or not at all; what has arrived of it lies beside it
/// as .NAME.part and is gone on with the next time, where the server can (and, without a sha256,
/// says that the file is still the same). A connection that breaks is taken up again some times.
/// Throws UserError: a refusal, a length or sha256 that does not fit (the part is removed then), a
/// disk that is full.
DownloadEnd download(const Download& what);

/// Bytes that have arrived of a file of that name.
int64_t bytes_arrived(const std::filesystem::path& target);

}  // namespace longhaul
