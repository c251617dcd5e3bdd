#pragma once
// How the few-row kernel brings tiles of 16 keys: by each warp for itself, several tiles ahead.
// Pages of bf16 arrive as they are multiplied. Of other types the bytes of the rows arrive. Blocks
// that follow each other are multiplied as they lie (block_products.cuh); all else becomes bf16 in
// shared memory when its turn comes: so as many loads are on their way as for bf16, and fewer
// bytes. Where a card has no room for that, numbers are rounded as they are loaded.

#include "ops/attention/key_tile.cuh"

namespace longhaul::cuda {

/// A tile that can be multiplied.
template <int D>
struct FewTile {
  uint4 keys[kFewKeys * kPitch<D> / 16];
  uint4 values[kFewKeys * kPitch<D> / 16];
};

/// Where the rows of a stage lie.
struct StageRows {
  PageType type;
  bool listed;
  uint16_t pitch;           ///< bytes from row to row
  uint8_t shift[kFewKeys];  ///< of a list: where row n begins behind its place
};

/// What is known of a stage, of up to kTiles tiles, when it is asked for.
template <int kTiles>
struct FewHeader {
  int32_t offsets[kTiles * kFewKeys];
  TileInfo info;
  StageRows keys, values;
};

/// Copies the bytes of a tile's rows: `side` bytes into pages, `bytes` a row.
struct RowCopy {
  uint32_t to;  ///< room_of_rows() bytes
  int side, bytes;
  PageType type;
};

/// Rows of a list lie at any even place: of each, all 16 bytes that hold some of it are copied.
LH_BOTH int pitch_of_rows(int bytes) { return (bytes + 15) / 16 * 16 + 16; }
LH_BOTH int room_of_rows(int bytes) { return kFewKeys * pitch_of_rows(bytes); }

/// Pieces of 16 bytes that follow each other. kAtOnce: of a lane, between two looks at the end.
template <int kAtOnce = 1>
__device__ __forceinline__ void copy_row_pieces(uint32_t to, const std::byte* from, int pieces) {
  const int lane = threadIdx.x % 32;
  if constexpr (kAtOnce == 1) {
#pragma unroll 1
    for (int c = lane; c < pieces; c += 32) copy_16_once(to + 16 * c, from + 16 * c, true);
    return;
  }
  constexpr int kBytes = 512;  // of all lanes' pieces
  to += 16 * lane;
  from += 16 * lane;
#pragma unroll 1
  for (int left = pieces - lane; left > 0; left -= 32 * kAtOnce) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (left > 32 * i) copy_16_once(to + kBytes * i, from + kBytes * i, true);
    }
    to += kBytes * kAtOnce;
    from += kBytes * kAtOnce;
  }
}

/// Of 16 slots of one page: their rows follow each other, from a multiple of 16 bytes on.
__device__ __forceinline__ void copy_stretch(const std::byte* page, int32_t slot,
                                             const RowCopy& copy, StageRows& rows) {
  copy_row_pieces(copy.to, page + copy.side + slot % kPageRows * copy.bytes, copy.bytes);
  if (threadIdx.x % 32 == 0) {
    rows.type = copy.type;
    rows.listed = false;
    rows.pitch = static_cast<uint16_t>(copy.bytes);
  }
}

/// Of a list; lane n < 16 names row n: its page (null: no key) and its number in the page.
__device__ __forceinline__ void copy_listed(const std::byte* page, int32_t row, const RowCopy& copy,
                                            StageRows& rows) {
  const int lane = threadIdx.x % 32, pitch = pitch_of_rows(copy.bytes), pieces = pitch / 16;
  const auto begin = reinterpret_cast<uintptr_t>(page) + static_cast<uintptr_t>(copy.side) +
                     static_cast<uintptr_t>(row) * static_cast<uintptr_t>(copy.bytes);
  const int shift = static_cast<int>(begin % 16);
  const auto first = static_cast<unsigned long long>(begin - static_cast<uintptr_t>(shift));
  const int wanted = page == nullptr ? 0 : (shift + copy.bytes + 15) / 16;
#pragma unroll 1
  for (int c = lane; c < kFewKeys * pieces; c += 32) {
    // All lanes take part that have a piece: at the end, the first 16.
    const unsigned mask = kFewKeys * pieces - (c - lane) < 32 ? 0xffffu : ~0u;
    const int n = c / pieces, piece = c % pieces;
    const auto from = __shfl_sync(mask, first, n);
    if (piece < __shfl_sync(mask, wanted, n)) {
      copy_16_once(copy.to + static_cast<uint32_t>(n * pitch + 16 * piece),
                   reinterpret_cast<const std::byte*>(from) + 16 * piece, true);
    }
  }
  if (lane < kFewKeys) rows.shift[lane] = static_cast<uint8_t>(shift);
  if (lane == 0) {
    rows.type = copy.type;
    rows.listed = true;
    rows.pitch = static_cast<uint16_t>(pitch);
  }
}

/// A row in shared memory, for the functions of stored_row.h.
struct SharedRow {
  uint32_t row;

  __device__ __forceinline__ bool between_words(int at) const {
    return (row + static_cast<uint32_t>(at)) % 4 != 0;
  }
  __device__ __forceinline__ uint32_t half(int at) const {
    uint16_t x;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(row + static_cast<uint32_t>(at)));
    return x;
  }
  __device__ __forceinline__ uint32_t word(int at) const {
    uint32_t x;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(row + static_cast<uint32_t>(at)));
    return x;
  }
  __device__ __forceinline__ Word4 sixteen(int at) const {
    const uint4 x = load_16(row + static_cast<uint32_t>(at));
    return {{x.x, x.y, x.z, x.w}};
  }
};

/// 16 rows as bf16; those without a key, whose bits in `present` are not set, as zeros.
template <int D>
__device__ __forceinline__ void expand_rows(uint32_t from, const StageRows& rows, PageType type,
                                            uint32_t present, uint32_t to) {
  constexpr int kChunks = D / 8, kOwn = kFewKeys * kChunks / 32;  // of a lane
  constexpr int kBatch = D > 128 ? 1 : kOwn % 4 == 0 ? 4 : kOwn % 3 == 0 ? 3 : 1;
  const int lane = threadIdx.x % 32, pitch = rows.pitch;
  const uint8_t* const shift = rows.listed ? rows.shift : nullptr;
  with_page_type(type, [&](auto of) {
  // Several at once, all loads before the stores: each waits for the loads before it.
#pragma unroll 1
    for (int c = lane; c < kFewKeys * kChunks; c += 32 * kBatch) {
      uint4 eights[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int n = (c + 32 * i) / kChunks, chunk = (c + 32 * i) % kChunks;
        const uint32_t row = from + static_cast<uint32_t>(n * pitch + (shift ? shift[n] : 0));
        const uint4 x = bf16_of(eight_of<decltype(of)::value>(SharedRow{row}, chunk));
        eights[i] = (present >> n & 1u) != 0 ? x : uint4{0, 0, 0, 0};
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int n = (c + 32 * i) / kChunks, chunk = (c + 32 * i) % kChunks;
        store_16(to + static_cast<uint32_t>(n * kPitch<D> + chunk * 16), eights[i]);
      }
    }
  });
}

template <PageType T>
inline constexpr int kBlockBytes = T == PageType::kQ8_0 ? 34 : 18;

/// Calls f with the type of a tile in blocks; mixed keys are multiplied as they are stored.
template <class Function>
__device__ __forceinline__ void with_block_type(PageType type, Function&& f) {
  if (type == PageType::kQ8_0) return f(PageTypeConstant<PageType::kQ8_0>());
  f(PageTypeConstant<PageType::kQ4_0>());
}

/// What the tiles of a call hold, and so which kernel reads them.
enum class FewForm : uint8_t {
  kPlain,        ///< bf16, or what is rounded as it is loaded
  kStored,       ///< rows as they are stored, which become bf16
  kBlocks,       ///< blocks of 32 in stretches that do not rotate, multiplied as they are stored
  kTurned,       ///< as kPlain where keys rotate (few_turned.cuh)
  kStoredTurned  ///< as kStored where they do
};

/// The stages of a warp: a ring of the tiles (of blocks, one or two a stage) that are on their way.
/// With kStored it also holds the tile that is multiplied.
template <int D, FewForm F>
class FewTiles;

/// Tiles as they are multiplied.
template <int D>
class FewTiles<D, FewForm::kPlain> {
 public:
  struct Stage {
    FewTile<D> tile;
    FewHeader<1> header;
  };
  static constexpr int kFixedBytes = 0;
  LH_BOTH static int stage_bytes(const FewPlan&, int) { return static_cast<int>(sizeof(Stage)); }

  __device__ __forceinline__ FewTiles(std::byte* memory, const FewPlan&, int)
      : stages_(reinterpret_cast<Stage*>(memory)) {}

  __device__ __forceinline__ FewHeader<1>& header(int stage) const { return stages_[stage].header; }
  __device__ __forceinline__ void load(const SegmentRecord& s, int32_t slot, int stage) const {
    FewTile<D>& tile = stages_[stage].tile;
    load_tile<D, kFewKeys, 32, true>(s, slot, shared_address(tile.keys),
                                     shared_address(tile.values), threadIdx.x % 32);
  }
  /// The stage's tile, which this warp alone reads until it asks for the next.
  __device__ __forceinline__ const FewTile<D>& tile(int stage) const { return stages_[stage].tile; }
  /// Whether its keys are mixed, and so must be the queries.
  __device__ __forceinline__ bool mixed(int) const { return false; }
  __device__ __forceinline__ uint32_t spare() const { return 0; }

 private:
  Stage* stages_;
};

/// A ring of stages, each a header with the rows of its tiles as they are stored behind it.
template <int D, int kFixed, int kTiles>
class StoredStages {
 public:
  using Header = FewHeader<kTiles>;
  static constexpr int kFixedBytes = kFixed;

  __device__ __forceinline__ StoredStages(std::byte* memory, int stage_bytes, int key_room)
      : stages_(memory + kFixed), stage_bytes_(stage_bytes), key_room_(key_room) {}

  __device__ __forceinline__ Header& header(int stage) const {
    return *reinterpret_cast<Header*>(stages_ + stage * stage_bytes_);
  }
  /// Keys in Q4_0 stay mixed, as they are stored, unless they rotate.
  __device__ __forceinline__ bool mixed(int stage) const {
    const Header& h = header(stage);
    return D % 32 == 0 && h.keys.type == PageType::kMixedQ4_0 && !h.info.rotate;
  }
  __device__ __forceinline__ uint32_t keys(int stage) const {
    return shared_address(stages_ + stage * stage_bytes_) + kHeaderBytes;
  }
  __device__ __forceinline__ uint32_t values(int stage) const {
    return keys(stage) + static_cast<uint32_t>(key_room_);
  }

 protected:
  static constexpr uint32_t kHeaderBytes = (sizeof(Header) + 15) / 16 * 16;

  __device__ __forceinline__ RowCopy key_copy(const SegmentRecord& s, int stage) const {
    return {keys(stage), 0, stored_bytes(s.key_type, D), s.key_type};
  }
  __device__ __forceinline__ RowCopy value_copy(const SegmentRecord& s, int stage) const {
    return {values(stage), kPageRows * stored_bytes(s.key_type, D), stored_bytes(s.value_type, D),
            s.value_type};
  }

 private:
  std::byte* stages_;
  int stage_bytes_, key_room_;
};

/// Stages of rows as they are stored, of which the one that is multiplied becomes bf16 first.
template <int D>
class FewTiles<D, FewForm::kStored> : public StoredStages<D, sizeof(FewTile<D>), 1> {
  using Stages = StoredStages<D, sizeof(FewTile<D>), 1>;

 public:
  LH_BOTH static int stage_bytes(const FewPlan& plan, int) {
    return static_cast<int>(Stages::kHeaderBytes) + room_of_rows(plan.key_bytes) +
           room_of_rows(plan.value_bytes);
  }

  __device__ __forceinline__ FewTiles(std::byte* memory, const FewPlan& plan, int)
      : Stages(memory, stage_bytes(plan, 1), room_of_rows(plan.key_bytes)),
        tile_(*reinterpret_cast<FewTile<D>*>(memory)) {}

  __device__ __forceinline__ void load(const SegmentRecord& s, int32_t slot, int stage) const {
    auto& h = this->header(stage);
    if (!lists_rows(s)) {
      const std::byte* const page = page_of(s, slot / kPageRows);
      copy_stretch(page, slot, this->key_copy(s, stage), h.keys);
      copy_stretch(page, slot, this->value_copy(s, stage), h.values);
      return;
    }
    const int key = slot + static_cast<int>(threadIdx.x % 32);
    const bool present = key < slot + kFewKeys && key < s.count;
    const int at = present ? __ldg(s.index + key) : 0;
    const std::byte* const page = present ? s.pages[at / kPageRows] : nullptr;
    copy_listed(page, at % kPageRows, this->key_copy(s, stage), h.keys);
    copy_listed(page, at % kPageRows, this->value_copy(s, stage), h.values);
  }
  /// kMixes: keys that are stored mixed stay so, as mixed() says.
  template <bool kMixes = true>
  __device__ __forceinline__ const FewTile<D>& tile(int stage) const {
    const auto& h = this->header(stage);
    const unsigned lane = threadIdx.x % 32;
    const uint32_t present =
        __ballot_sync(~0u, lane < kFewKeys && h.offsets[lane % kFewKeys] != kNoKey);
    const PageType type = kMixes && this->mixed(stage) ? PageType::kQ4_0 : h.keys.type;
    expand_rows<D>(this->keys(stage), h.keys, type, present, shared_address(tile_.keys));
    expand_rows<D>(this->values(stage), h.values, h.values.type, present,
                   shared_address(tile_.values));
    __syncwarp();
    return tile_;
  }
  /// Room for queries until tile() is called.
  __device__ __forceinline__ uint32_t spare() const { return shared_address(tile_.keys); }

 private:
  FewTile<D>& tile_;
};

/// Stages of blocks that are multiplied as they are stored, of one tile or, where there is room for
/// two such stages, of two: asking for a stage costs half the instructions of a tile. Room for
/// mixed queries lies before them.
inline constexpr int kMostFewTiles = 2;
template <int D>
class FewTiles<D, FewForm::kBlocks>
    : public StoredStages<D, kFewUnitRows * kPitch<D>, kMostFewTiles> {
  using Stages = StoredStages<D, kFewUnitRows * kPitch<D>, kMostFewTiles>;

 public:
  LH_BOTH static int stage_bytes(const FewPlan& plan, int tiles) {
    return static_cast<int>(Stages::kHeaderBytes) +
           tiles * kFewKeys * (plan.key_bytes + plan.value_bytes);
  }

  __device__ __forceinline__ FewTiles(std::byte* memory, const FewPlan& plan, int tiles)
      : Stages(memory, stage_bytes(plan, tiles), tiles * kFewKeys * plan.key_bytes),
        tiles_(tiles),
        spare_(shared_address(memory)) {}

  __device__ __forceinline__ void load(const SegmentRecord& s, int32_t slot, int stage) const {
    auto& h = this->header(stage);
    const std::byte* const page = page_of(s, slot / kPageRows);
    copy(page, slot, this->key_copy(s, stage));
    copy(page, slot, this->value_copy(s, stage));
    if (threadIdx.x % 32 == 0) h.keys.type = s.key_type, h.values.type = s.value_type;
  }
  __device__ __forceinline__ uint32_t spare() const { return spare_; }

 private:
  /// As copy_stretch(): how long a row is, the type says.
  __device__ __forceinline__ void copy(const std::byte* page, int32_t slot,
                                       const RowCopy& rows) const {
    with_block_type(rows.type, [&](auto type) {
      constexpr int kBytes = D / 32 * kBlockBytes<decltype(type)::value>;
      const int lane = threadIdx.x % 32;
      const std::byte* from = page + rows.side + slot % kPageRows * kBytes + 16 * lane;
      uint32_t to = rows.to + static_cast<uint32_t>(16 * lane);
#pragma unroll 1
      for (int tile = 0; tile < tiles_; ++tile, from += 16 * kBytes, to += 16 * kBytes) {
#pragma unroll
        for (int c = 0; c < kBytes; c += 32) {
          if (c + 32 <= kBytes || lane + c < kBytes) {
            copy_16_once(to + static_cast<uint32_t>(16 * c), from + 16 * c, true);
          }
        }
      }
    });
  }

  int tiles_;
  uint32_t spare_;
};

}  // namespace longhaul::cuda
