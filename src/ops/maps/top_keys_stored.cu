// top_keys() of few rows over keys that are not bf16. With loads through registers, each load
// waited for the previous one: for Q8_0 a layer took ten times as long as its bytes need. The bytes
// are therefore copied as stored, several steps ahead, and converted in shared memory when needed.

#include "ops/maps/top_stored_rows.cuh"

namespace longhaul::cuda {
namespace {

/// The keys of every kWarps-th tile, 16 at a time, loaded by one warp. Their bytes form a stream.
/// Each page holds 64 rows, and so a whole number of 16-byte pieces. The bytes of 16 keys are
/// contiguous in shared memory even if they lie in two pages.
template <int kWarps>
class KeyStream {
 public:
  __device__ __forceinline__ KeyStream(const SegmentRecord& keys, int row_bytes, int32_t tile)
      : keys_(keys),
        shift_(static_cast<uint32_t>(keys.shift)),
        row_bytes_(static_cast<uint32_t>(row_bytes)),
        skipped_(shift_ * row_bytes_ % 16),
        tile_(tile),
        last_((keys.shift + keys.count - 1) / kPageRows) {
    look_up(keys.count > 0);
  }

  /// Loads the next 16 keys. The first begins skipped() bytes after `to`. Data after the last key
  /// is arbitrary.
  __device__ __forceinline__ void bring(uint32_t to) {
    if (step_ == 0) {
      own_ = next_;
      tile_ += kWarps;
    }
    look_up(step_ == 0);
    const uint32_t slot = shift_ + kDecodeKeys * step_;
    step_ = (step_ + 1) % (kTopTile / kDecodeKeys);
    const uint32_t page = slot / kPageRows, from = slot % kPageRows * row_bytes_ - skipped_;
    const uint32_t all = row_bytes_ + (skipped_ != 0 ? 1 : 0);  // 16 rows are row_bytes_ pieces
    const uint32_t here = min(all, kPageRows / 16 * row_bytes_ - from / 16);
    constexpr int kAtOnce = 5;  // for Q8_0 and 128 elements: all pieces
    copy_row_pieces<kAtOnce>(to, page_at(page) + from, static_cast<int>(here));
    if (here < all) {
      copy_row_pieces<kAtOnce>(to + 16 * here, page_at(page + 1), static_cast<int>(all - here));
    }
  }
  /// Offset of the first key, equal for all steps.
  __device__ __forceinline__ uint32_t skipped() const { return skipped_; }

 private:
  static constexpr int kPages = kTopTile / kPageRows;  ///< a tile spans at most one more

  /// If `due`, loads the tile's page addresses: lane n gets page n, or the last page. They are
  /// loaded ahead, since a look-up takes as long as the keys. With an `if` around a plain load, the
  /// compiler would copy the result immediately, and so wait for it.
  __device__ __forceinline__ void look_up(bool due) {
    const int page = kPages * tile_ + min(static_cast<int>(threadIdx.x % 32), kPages);
    const std::byte* const* const from = keys_.pages + min(page, last_);
    asm volatile("{.reg .pred due; setp.ne.s32 due, %2, 0; @due ld.global.b64 %0, [%1];}"
                 : "+l"(next_)
                 : "l"(from), "r"(static_cast<int>(due)));
  }
  __device__ __forceinline__ const std::byte* page_at(uint32_t lane) const {
    const auto address = reinterpret_cast<unsigned long long>(own_);
    return reinterpret_cast<const std::byte*>(__shfl_sync(~0u, address, static_cast<int>(lane)));
  }

  const SegmentRecord& keys_;
  uint32_t shift_, row_bytes_, skipped_, step_ = 0;
  int32_t tile_, last_;
  const std::byte *own_ = nullptr, *next_ = nullptr;
};

/// Merges the lists of a thread block's warps in shared memory, [flat rows][warps][K].
template <int K, int kWarps>
__device__ __forceinline__ void merge_warps(const TopArgs& a, const ScoreJob& job,
                                            const ScoredKey* lists, int flat, int rows, int part) {
  const int lane = threadIdx.x % 32;
  for (int f = threadIdx.x / 32; f < rows; f += kWarps) {
    BestList<K> best;
    for (int i = lane; i < kWarps * K; i += 32) best.offer(lists[f * kWarps * K + i]);
#pragma unroll
    for (int i = 0; i < K; ++i) {
      const ScoredKey x = best.template pop<32>();
      if (lane == 0 && i < a.k) part_of_row(a, job, flat + f, part, job.parts)[i] = x;
    }
  }
}

template <int D, int K, template <int, int> class RowsOf>
inline constexpr int kWarpsOf = stored_warps(D, RowsOf<D, K>::kFlatRows);

/// Rows::kFlatRows flat rows against a part of the keys. Each warp reads its own tiles.
template <int D, int K, template <int, int> class RowsOf>
__global__ void __launch_bounds__(32 * kWarpsOf<D, K, RowsOf>,
                                  most_stored_blocks(D, RowsOf<D, K>::kFlatRows, K))
    top_keys_stored(const __grid_constant__ TopArgs a, const StoredShape shape) {
  using Rows = RowsOf<D, K>;
  constexpr int kWarps = kWarpsOf<D, K, RowsOf>, kPerTile = kTopTile / kDecodeKeys;
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<JobOfBlock*>(memory);
  find_job(a.score, shared);
  const ScoreJob& job = shared.job;
  const int warp = threadIdx.x / 32, stages = shape.stages, flat = shared.tile * Rows::kFlatRows;
  const uint32_t own = shared_address(memory) + static_cast<uint32_t>(sizeof(JobOfBlock)) +
                       warp * (shape.own_bytes + stages * shape.stage_bytes);
  const uint32_t ring = own + shape.own_bytes;
  TileStretch tiles = tiles_of(job, shared.part);
  tiles.begin += warp;
  const int steps =
      tiles.begin < tiles.end ? (tiles.end - tiles.begin + kWarps - 1) / kWarps * kPerTile : 0;
  KeyStream<kWarps> stream(job.keys, stored_bytes(job.keys.key_type, D), tiles.begin);
  for (int i = 0; i < stages - 1; ++i) {
    if (i < steps) stream.bring(ring + i * shape.stage_bytes);
    commit_copies();
  }
  Rows rows;
  rows.load(a, job, flat, own);
  int at = 0, free = stages - 1;
  for (int i = 0; i < steps; ++i) {
    wait_for_stage(stages);
    __syncwarp();  // step i has arrived, and no lane reads the previous one any more
    if (i + stages - 1 < steps) stream.bring(ring + free * shape.stage_bytes);
    commit_copies();
    const int32_t first =
        (tiles.begin + i / kPerTile * kWarps) * kTopTile + i % kPerTile * kDecodeKeys;
    rows.add_keys(ring + at * shape.stage_bytes + stream.skipped(), job.keys, first, a.of_tiles);
    if (a.of_tiles && (i + 1) % kPerTile == 0) rows.end_tile();
    free = at;
    at = at + 1 == stages ? 0 : at + 1;
  }
  wait_copies<0>();
  __syncthreads();  // barrier: no warp reads keys any more, and the lists overwrite the rings
  auto* const lists = reinterpret_cast<ScoredKey*>(memory + sizeof(JobOfBlock) / 16);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#pragma unroll
    for (int i = 0; i < K; ++i) {
      const ScoredKey x = rows.pop(r);
      if (Rows::writes()) lists[(Rows::flat_row(r) * kWarps + warp) * K + i] = x;
    }
  }
  __syncthreads();
  const int flat_rows = min(Rows::kFlatRows, job.row_count * job.head_count - flat);
  merge_warps<K, kWarps>(a, job, lists, flat, flat_rows, shared.part);
}

template <int D, int K, template <int, int> class RowsOf>
void launch(Stream stream, const TopArgs& args, const StoredFit& fit, int blocks) {
  const auto kernel = top_keys_stored<D, K, RowsOf>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, fit.block_bytes),
        "shared memory of top_keys");
  launch_early(stream, "top_keys", kernel, static_cast<unsigned>(blocks),
               static_cast<unsigned>(32 * fit.warps), static_cast<size_t>(fit.block_bytes), args,
               fit.shape);
}

}  // namespace

void launch_top_keys_stored(Stream stream, const TopArgs& args, const StoredFit& fit, int blocks,
                            int head_dim) {
  with_head_dim(head_dim, [&](auto dim) {
    constexpr int D = dim();
    const auto launch_rows = [&](auto most) {
      constexpr int K = most();
      if constexpr (D % 64 == 0) {
        if (fit.flat_rows == kBlockFlatRows)
          return launch<D, K, BlockRows>(stream, args, fit, blocks);
      }
      launch<D, K, ExpandedRows>(stream, args, fit, blocks);
    };
    if (args.k <= 4) return launch_rows(std::integral_constant<int, 4>());
    launch_rows(std::integral_constant<int, kMostTopKeys>());
  });
}

}  // namespace longhaul::cuda
