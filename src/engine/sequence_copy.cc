#include "engine/sequence_copy.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/byte_stream.h"
#include "base/clock.h"
#include "engine/sequence_state.h"
#include "kv/store_copy.h"

namespace longhaul {
namespace {

constexpr size_t kBatchBytes = SideCopies::kBlockBytes;

}  // namespace

/// The thread of the copies shares it, and may hold it a little longer than the SequenceCopy.
struct SequenceCopy::State : CopySource {
  // Functions for copies to the host; the thread of the copies calls them. advance() calls next()
  // for copies to the device.
  CopyBatch next() override {
    if (cancelled) return {};
    if (next_array < arrays.size()) return arrays[next_array++];
    CopyBatch batch;
    batch.pinned = pinned;
    store->next(kBatchBytes, batch.pieces);
    return batch;
  }
  void finished(const std::string& what) override { end_one(what); }

  /// Returns whether next() has copies to offer.
  bool left() const { return next_array < arrays.size() || store->pages_left() > 0; }

  void end_one(const std::string& what) {
    const std::lock_guard lock(mutex);
    if (error.empty()) error = what;
    --pending;
    changed.notify_all();
  }

  std::shared_ptr<HostMemory> memory;
  std::unique_ptr<Sequence::State> to;
  std::optional<StoreCopy> store;
  bool to_host = false;
  bool pinned = true;             ///< whether the pages in host memory are pinned
  std::vector<CopyBatch> arrays;  ///< copies of everything except pages
  size_t next_array = 0;
  int64_t counted = 0;  ///< pairs that the device has counted (AttentionRecord::counted)
  std::atomic<bool> cancelled = false;

  mutable std::mutex mutex;
  std::condition_variable changed;
  int64_t pending = 0;  ///< batches or sources that the thread of the copies has
  std::string error;
};

bool SequenceCopy::can_copy(const Sequence& from) {
  return from.options().queue.ranks() == 1 && !from.tokens().empty() && !from.state_->to_be_reset &&
         StoreCopy::can_copy(from.store());
}

SequenceCopy::SequenceCopy(std::shared_ptr<HostMemory> memory, const Sequence& from,
                           const SessionOptions& options, const SequenceTwins& twins, bool pinned)
    : state_(std::make_shared<State>()) {
  LH_ASSERT(can_copy(from));
  const Sequence::State& source = *from.state_;
  State& s = *state_;
  s.memory = std::move(memory);
  s.to_host = options.queue.on_host();
  SessionOptions own = options;
  own.chunk = source.chunk;
  s.to = std::make_unique<Sequence::State>(source.engine, own);
  Sequence::State& to = *s.to;
  ByteWriter out;
  source.method->save(out);
  ByteReader in(out.take());
  to.method->restore(in);
  to.tokens = source.tokens;
  to.logits = source.logits;
  to.set_angles(source.angles_length);
  to.record.pairs = source.record.pairs;
  to.record.dense_pairs = source.record.dense_pairs;
  to.record.seconds = source.record.seconds;
  to.taken_pairs = source.taken_pairs;
  to.taken_seconds = source.taken_seconds;
  to.forecast_of_prompt = source.forecast_of_prompt;

  std::vector<DeviceBytes> arrays;
  if (source.record.counted.size() > 0) {
    LH_ASSERT(s.to_host);
    arrays.push_back({source.record.counted.view().address(), &s.counted, sizeof s.counted});
  }
  const bool with_twins = twins.here != nullptr && twins.there != nullptr;
  const auto state_of = [&](const Sequence* twin) {
    return with_twins ? twin->state_.get() : nullptr;
  };
  const Sequence::State *here = state_of(twins.here), *there = state_of(twins.there);
  to.recurrent = source.recurrent.elsewhere(own.queue, with_twins ? &here->recurrent : nullptr,
                                            with_twins ? &there->recurrent : nullptr,
                                            [&](const void* a, void* b, size_t bytes) {
                                              arrays.push_back({a, b, bytes});
                                            });
  const KvLayout& layout = to.store().layout();
  s.store.emplace(
      source.store(),
      s.to_host && pinned ? s.memory->make_store(layout) : KvStore(layout, own.queue),
      StoreTwins{with_twins ? &here->store() : nullptr, with_twins ? &there->store() : nullptr});
  arrays.insert(arrays.end(), s.store->arrays().begin(), s.store->arrays().end());
  s.arrays = batches_of(arrays, false);
  s.pinned = s.to_host ? pinned : StoreCopy::is_pinned(source.store());
  if (!s.to_host) return;
  s.pending = 1;
  s.memory->copies().download(state_);
}

SequenceCopy::~SequenceCopy() {
  State& s = *state_;
  s.cancelled = true;
  std::unique_lock lock(s.mutex);
  s.changed.wait(lock, [&] { return s.pending == 0; });
  s.store.reset();
  s.to.reset();
  s.memory.reset();  // the thread of the copies must not be the last that holds it
}

void SequenceCopy::advance(double seconds) {
  State& s = *state_;
  if (s.to_host || !error().empty()) return;
  const Stopwatch watch;
  while (s.left()) {
    CopyBatch batch = s.next();
    {
      const std::lock_guard lock(s.mutex);
      ++s.pending;
    }
    try {
      s.memory->copies().upload(
          std::move(batch), [state = state_](const std::string& what) { state->end_one(what); });
    } catch (const std::exception& error) {
      s.end_one(error.what());  // the destructor waits for batches that have begun
      throw;
    }
    if (watch.seconds() >= seconds) return;
  }
}

bool SequenceCopy::done() const {
  const State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (s.pending > 0) return false;
  return s.to_host || !s.error.empty() || !s.left();
}

std::string SequenceCopy::error() const {
  const std::lock_guard lock(state_->mutex);
  return state_->error;
}

size_t SequenceCopy::bytes_left() const {
  return state_->to_host ? 0 : state_->store->pages_left();
}

Sequence SequenceCopy::take() {
  State& s = *state_;
  LH_ASSERT(done() && s.error.empty());
  s.to->store() = s.store->take();
  s.to->record.pairs += s.counted;
  return Sequence(std::move(s.to));
}

}  // namespace longhaul
