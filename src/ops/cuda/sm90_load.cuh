#pragma once
// What the warpgroup that loads does in the wgmma kernel: one thread goes over units and their
// tiles and asks the copy engine for keys and values; one warp asks it for each unit's queries,
// while the unit before is still computed.

#include "ops/cuda/sm90_rows.cuh"

namespace longhaul::cuda {

inline constexpr int kSm90Threads = 3 * 128;  ///< a warpgroup that loads, two that compute
inline constexpr int kComputingWarps = 8;

/// A tile that is to be loaded.
template <int kPages>
struct NextTile {
  bool there;
  int page[kPages];  ///< of the map
  const float* queries;
};

/// What all tiles say.
struct alignas(16) TileHead {
  int32_t unit;    ///< where it lies in Sm90Shared::units; below 0: there are no more
  int32_t fresh;   ///< its queries are not those of the tile before
  int32_t last;    ///< of its unit
  int32_t absent;  ///< the unit has no tile at all
  const float* queries;
};

/// Queries that are to be brought; null: no more.
struct QueryRequest {
  const float* queries;
  int32_t row_begin, row_count, head_begin, head_count;
};

/// What a block has in shared memory. A Note says what the warpgroups that compute need to know of
/// a tile.
template <int D, class Note>
struct Sm90Shared {
  using F = Sm90Form<D>;
  /// As many as tiles can be in, and one that is being written.
  static constexpr int kUnits = F::kStages + 1;
  uint8_t queries[F::kQueryBytes];
  uint8_t keys[F::kStages][F::kTile];
  uint8_t values[F::kStages][F::kTile];
  uint64_t keys_full[F::kStages], keys_empty[F::kStages];
  uint64_t values_full[F::kStages], values_empty[F::kStages];
  uint64_t queries_full, queries_empty, request_full, request_empty;
  TileHead heads[F::kStages];  ///< of the keys, as notes are
  Note notes[F::kStages], next_note;
  UnitRecord units[kUnits];
  QueryRequest request;
  int32_t asked;  ///< what the counter of units said last

  /// By one thread.
  __device__ __forceinline__ void make_barriers() {
    for (int s = 0; s < F::kStages; ++s) {
      barrier_init(shared_address(&keys_full[s]), 1);
      barrier_init(shared_address(&values_full[s]), 1);
      barrier_init(shared_address(&keys_empty[s]), kComputingWarps);
      barrier_init(shared_address(&values_empty[s]), kComputingWarps);
    }
    barrier_init(shared_address(&queries_full), 1);
    barrier_init(shared_address(&queries_empty), kComputingWarps);
    barrier_init(shared_address(&request_full), 1);
    barrier_init(shared_address(&request_empty), 1);
    request.queries = nullptr;
    barriers_are_made();
  }
};

__device__ __forceinline__ int page_number(const PageMap& pages, const std::byte* at) {
  return static_cast<int>(static_cast<uint32_t>((at - pages.base) >> 8) / pages.page_units);
}

/// Asks for the keys (first = 0) or values (kPageRows) of a tile's pages of the map.
template <int D>
__device__ __forceinline__ void copy_pages(uint8_t* to, uint64_t* full, const PageMap& pages,
                                           int first, const int (&page)[Sm90Form<D>::kPages]) {
  using F = Sm90Form<D>;
  const uint32_t barrier = shared_address(full), at = shared_address(to);
  barrier_expect(barrier, F::kTile);
#pragma unroll
  for (int p = 0; p < F::kPages; ++p) {
#pragma unroll
    for (int h = 0; h < D / 64; ++h) {
      copy_box(at + h * F::kHalf + p * kPageRows * 128, &pages.map, 64 * h, first, page[p],
               barrier);
    }
  }
}

/// The thread that loads.
template <int D, class Seen>
class Sm90Loader {
 public:
  using F = Sm90Form<D>;
  using Shared = Sm90Shared<D, typename Seen::Note>;
  using Tile = NextTile<F::kPages>;

  __device__ __forceinline__ Sm90Loader(const AttendArgs& a, const PageMap& pages, Shared& shared)
      : a_(a), pages_(pages), shared_(shared) {}

  /// A block's first unit has its number; then it takes whichever comes next, so that all end
  /// together though units are of unlike length. Each unit asks for one more, whether there is one
  /// or not: the launch's last question leaves the counter as it was.
  __device__ __forceinline__ void load(const Sm90Units& units) {
    int number = blockIdx.x;
    while (number < units.count) {
      load_unit(units.records[number], units.taken);
      if (shared_.asked == units.count - 1) *units.taken = 0;
      number = static_cast<int>(gridDim.x) + shared_.asked;
    }
    ask_queries(nullptr, {});
    await_keys();
    shared_.heads[stage_] = {-1, 0, 0, 0, nullptr};
    barrier_arrive(shared_address(&shared_.keys_full[stage_]));
  }

 private:
  /// Looks up the next tile's pages while it would wait for values to be used: that takes as long
  /// as half of a tile's products.
  __device__ __forceinline__ void load_unit(const UnitRecord& unit, int32_t* taken) {
    TileWalk walk(a_.segments, unit, F::kKeys);
    Tile tile = next_tile(walk, unit);
    if (!tile.there) load_nothing(unit, taken);
    for (bool first = true; tile.there; first = false) {
      const bool fresh = first || tile.queries != shared_.request.queries;
      if (fresh) ask_queries(tile.queries, unit);
      const bool last = !walk.more();
      await_keys();
      if (first) shared_.units[unit_] = unit;
      shared_.heads[stage_] = {unit_, fresh, last, 0, tile.queries};
      shared_.notes[stage_] = shared_.next_note;  // all of these are there when keys_full is
      copy_pages<D>(shared_.keys[stage_], &shared_.keys_full[stage_], pages_, 0, tile.page);
      if (first) shared_.asked = atomicAdd(taken, 1);
      const Tile next = next_tile(walk, unit);
      await_values();
      copy_pages<D>(shared_.values[stage_], &shared_.values_full[stage_], pages_, kPageRows,
                    tile.page);
      advance();
      tile = next;
    }
    unit_ = unit_ + 1 == Shared::kUnits ? 0 : unit_ + 1;
  }

  /// Its note waits in shared memory: registers have no room.
  __device__ __forceinline__ Tile next_tile(TileWalk& walk, const UnitRecord& unit) {
    return Seen::next(walk, unit, pages_, shared_.next_note);
  }

  /// A stage that holds no keys: the unit's rows are zeros.
  __device__ __forceinline__ void load_nothing(const UnitRecord& unit, int32_t* taken) {
    await_keys();
    shared_.units[unit_] = unit;
    shared_.heads[stage_] = {unit_, 0, 1, 1, nullptr};
    barrier_arrive(shared_address(&shared_.keys_full[stage_]));
    shared_.asked = atomicAdd(taken, 1);
    await_values();
    barrier_arrive(shared_address(&shared_.values_full[stage_]));
    advance();
  }

  __device__ __forceinline__ void ask_queries(const float* queries, const UnitRecord& unit) {
    if constexpr (F::kQueriesHere) {
      barrier_wait(shared_address(&shared_.request_empty), requests_++ & 1 ^ 1);
    }
    shared_.request = {queries, unit.row_begin, unit.row_count, unit.head_begin, unit.head_count};
    if constexpr (F::kQueriesHere) barrier_arrive(shared_address(&shared_.request_full));
  }

  __device__ __forceinline__ void await_keys() {
    barrier_wait(shared_address(&shared_.keys_empty[stage_]), round_ ^ 1);
  }
  __device__ __forceinline__ void await_values() {
    barrier_wait(shared_address(&shared_.values_empty[stage_]), round_ ^ 1);
  }
  __device__ __forceinline__ void advance() {
    if (++stage_ < F::kStages) return;
    stage_ = 0;
    round_ ^= 1;
  }

  const AttendArgs& a_;
  const PageMap& pages_;
  Shared& shared_;
  int stage_ = 0, unit_ = 0;
  uint32_t round_ = 0, requests_ = 0;
};

/// The warp that asks for queries: f32 rows, each from a place of its own.
template <int D, class Shared>
__device__ __forceinline__ void bring_queries(const AttendArgs& a, Shared& shared) {
  const uint32_t full = shared_address(&shared.queries_full);
  const uint32_t row_bytes = a.head_dim * sizeof(float);
  const int lane = threadIdx.x % 32;
  for (uint32_t n = 0;; ++n) {
    barrier_wait(shared_address(&shared.request_full), n & 1);
    const QueryRequest of = shared.request;
    __syncwarp();
    if (lane == 0) barrier_arrive(shared_address(&shared.request_empty));
    if (of.queries == nullptr) return;
    barrier_wait(shared_address(&shared.queries_empty), n & 1 ^ 1);
    const int flat_rows = of.row_count * of.head_count;
    if (lane == 0) barrier_expect(full, flat_rows * row_bytes);
    __syncwarp();
    for (int f = lane; f < flat_rows; f += 32) {
      const int64_t row = of.row_begin + f / of.head_count;
      const int64_t at = (row * a.heads + of.head_begin + f % of.head_count) * a.head_dim;
      copy_bytes(shared_address(shared.queries) + f * Sm90Form<D>::kQueryPitch, of.queries + at,
                 row_bytes, full);
    }
  }
}

}  // namespace longhaul::cuda
