#include "kv/copy_thread.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/assert.h"

namespace longhaul {
namespace {

constexpr size_t kMostFlying = 4;  // batches that the device has at a time
constexpr size_t kBounceAlignment = 16;

}  // namespace

std::vector<CopyBatch> batches_of(std::span<const DeviceBytes> copies, bool pinned) {
  std::vector<CopyBatch> batches;
  size_t room = 0;
  for (const DeviceBytes& copy : copies) {
    for (size_t done = 0; done < copy.bytes;) {
      if (room < kBounceAlignment) {
        batches.push_back({{}, pinned});
        room = SideCopies::kBlockBytes;
      }
      const size_t some = std::min(copy.bytes - done, room / kBounceAlignment * kBounceAlignment);
      batches.back().pieces.push_back({static_cast<const std::byte*>(copy.from) + done,
                                       static_cast<std::byte*>(copy.to) + done, some});
      done += some;
      room -= std::min(room, (some + kBounceAlignment - 1) / kBounceAlignment * kBounceAlignment);
    }
  }
  return batches;
}

CopyThread::CopyThread(std::shared_ptr<SideCopies> copies, std::shared_ptr<HostBlocks> blocks)
    : copies_(std::move(copies)), blocks_(std::move(blocks)), thread_([this] { run(); }) {}

CopyThread::~CopyThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
  for (std::byte* block : bounce_) copies_->release_block(block);
}

void CopyThread::download(std::shared_ptr<CopySource> source) {
  {
    const std::lock_guard lock(mutex_);
    copies_->follow_queue();
    downloads_.push_back(std::move(source));
  }
  changed_.notify_one();
}

void CopyThread::upload(CopyBatch batch, Done done) {
  {
    const std::lock_guard lock(mutex_);
    copies_->follow_queue();
    uploads_.push_back({std::move(batch), std::move(done)});
  }
  changed_.notify_one();
}

void CopyThread::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

void CopyThread::run() {
  for (;;) {
    if (flying_.size() < kMostFlying && (launch_upload() || launch_download())) continue;
    if (!flying_.empty()) {
      land();
      continue;
    }
    {
      std::unique_lock lock(mutex_);
      if (!uploads_.empty() || !downloads_.empty()) continue;
      if (stopping_) return;
    }
    if (blocks_->prepare()) continue;
    std::unique_lock lock(mutex_);
    changed_.wait(
        lock, [this] { return stopping_ || woken_ || !uploads_.empty() || !downloads_.empty(); });
    woken_ = false;
  }
}

bool CopyThread::launch_upload() {
  Upload next;
  {
    const std::lock_guard lock(mutex_);
    if (uploads_.empty()) return false;
    next = std::move(uploads_.front());
    uploads_.pop_front();
  }
  try {
    Flying& flies = flying_.emplace_back();
    flies.event = launch(false, next.batch, flies.from_bounce);
    flies.done = std::move(next.done);
  } catch (const std::exception& error) {
    flying_.pop_back();
    next.done(error.what());
  }
  return true;
}

bool CopyThread::launch_download() {
  std::shared_ptr<CopySource> source;
  {
    const std::lock_guard lock(mutex_);
    if (downloads_.empty()) return false;
    source = downloads_.front();
  }
  try {
    const CopyBatch batch = failed_.empty() ? source->next() : CopyBatch();
    if (!batch.pieces.empty()) {
      Flying flies;
      flies.event = launch(true, batch, flies.from_bounce);
      flying_.push_back(std::move(flies));
      return true;
    }
  } catch (const std::exception& error) {
    failed_ = error.what();
  }
  while (!flying_.empty()) land();
  {
    const std::lock_guard lock(mutex_);
    downloads_.pop_front();
  }
  source->finished(std::exchange(failed_, {}));
  return true;
}

/// Completes the oldest batch.
void CopyThread::land() {
  Flying flies = std::move(flying_.front());
  flying_.pop_front();
  std::string failed;
  try {
    copies_->wait_for(flies.event);
  } catch (const std::exception& error) {
    failed = error.what();
  }
  for (const DeviceBytes& piece : flies.from_bounce) {
    std::memcpy(piece.to, piece.from, piece.bytes);
  }
  if (flies.done) return flies.done(failed);
  if (failed_.empty()) failed_ = failed;
}

/// Begins the copies of a batch. Host memory that is not pinned is copied through a pinned block.
uint64_t CopyThread::launch(bool down, const CopyBatch& batch,
                            std::vector<DeviceBytes>& from_bounce) {
  if (batch.pinned) {
    return down ? copies_->download(batch.pieces) : copies_->upload(batch.pieces);
  }
  // Each batch on its way has a block of its own.
  const size_t index = launched_ % kMostFlying;
  while (bounce_.size() <= index) bounce_.push_back(copies_->allocate_block());
  ++launched_;
  std::byte* next = bounce_[index];
  std::vector<DeviceBytes> pieces;
  for (const DeviceBytes& piece : batch.pieces) {
    LH_ASSERT(next + piece.bytes <= bounce_[index] + SideCopies::kBlockBytes);
    if (down) {
      pieces.push_back({piece.from, next, piece.bytes});
      from_bounce.push_back({next, piece.to, piece.bytes});
    } else {
      std::memcpy(next, piece.from, piece.bytes);
      pieces.push_back({next, piece.to, piece.bytes});
    }
    next += (piece.bytes + kBounceAlignment - 1) / kBounceAlignment * kBounceAlignment;
  }
  return down ? copies_->download(pieces) : copies_->upload(pieces);
}

}  // namespace longhaul
