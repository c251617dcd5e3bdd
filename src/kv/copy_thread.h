#pragma once
// CopyThread makes copies between a device and the host on a thread of its own, so that the thread
// of the device's queue never waits for them.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "kv/host_blocks.h"

namespace longhaul {

/// Copies that are made together. They have at most SideCopies::kBlockBytes bytes.
struct CopyBatch {
  std::vector<DeviceBytes> pieces;
  bool pinned = true;  ///< whether the host memory of the pieces is pinned
};

/// Copies from the device to the host that are listed step by step.
class CopySource {
 public:
  virtual ~CopySource() = default;
  /// Returns the next copies, or no pieces if there are none left. It is called on the thread of
  /// the copies. It may throw; finished() then gets the error.
  virtual CopyBatch next() = 0;
  /// It is called once on the thread of the copies when all copies are complete, or after an error.
  virtual void finished(const std::string& error) = 0;
};

/// Divides copies into batches.
std::vector<CopyBatch> batches_of(std::span<const DeviceBytes> copies, bool pinned);

class CopyThread {
 public:
  using Done = std::function<void(const std::string& error)>;

  /// While there is nothing to copy, the thread allocates blocks in advance (HostBlocks::prepare).
  CopyThread(std::shared_ptr<SideCopies> copies, std::shared_ptr<HostBlocks> blocks);
  ~CopyThread();  ///< completes all copies that have been added
  CopyThread(const CopyThread&) = delete;
  CopyThread& operator=(const CopyThread&) = delete;

  /// Copies from the device to the host. Both functions are called on the thread of the device's
  /// queue.
  void download(std::shared_ptr<CopySource> source);
  /// Copies a batch from the host to the device, before all downloads that wait. `done` is called
  /// on the thread of the copies.
  void upload(CopyBatch batch, Done done);
  /// Lets the thread look for blocks to allocate.
  void wake();

 private:
  struct Flying {
    uint64_t event = 0;
    std::vector<DeviceBytes> from_bounce;  ///< copies between host arrays when the event is reached
    Done done;
  };
  struct Upload {
    CopyBatch batch;
    Done done;
  };
  void run();
  bool launch_upload();
  bool launch_download();
  void land();
  uint64_t launch(bool down, const CopyBatch& batch, std::vector<DeviceBytes>& from_bounce);

  std::shared_ptr<SideCopies> copies_;
  std::shared_ptr<HostBlocks> blocks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Upload> uploads_;
  std::deque<std::shared_ptr<CopySource>> downloads_;
  bool stopping_ = false, woken_ = false;

  // Only the thread uses these members.
  std::deque<Flying> flying_;
  std::vector<std::byte*> bounce_;  ///< pinned blocks for host memory that is not pinned
  size_t launched_ = 0;
  std::string failed_;  ///< error of the first of downloads_
  std::thread thread_;  ///< declared last, because it uses the other members
};

}  // namespace longhaul
