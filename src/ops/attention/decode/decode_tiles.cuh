#pragma once
// Loads tiles of 16 keys in the decode kernel. Each warp loads its own tiles, several tiles ahead.
// Rows in bf16 are copied to shared memory and multiplied without conversion. Rows of other types
// are copied as they are stored. Rows in block formats that are consecutive (stretches) are also
// multiplied as they are stored (block_products.cuh). All other rows are converted to bf16 in
// shared memory just before they are multiplied. As many tiles are in flight as with bf16 rows, but
// each has fewer bytes. If a GPU has too little shared memory for this, rows are converted while
// they are loaded.

#include "ops/attention/key_tile.cuh"

namespace longhaul::cuda {

/// Keys and values of a tile in bf16, ready to be multiplied.
template <int D>
struct DecodeTile {
  uint4 keys[kDecodeKeys * kPitch<D> / 16];
  uint4 values[kDecodeKeys * kPitch<D> / 16];
};

/// The place of a tile's keys, or of its values, in a stage. A stage is the memory of one tile (or
/// two) in the ring of loads.
struct StageRows {
  PageType type;
  bool listed;
  uint16_t pitch;  ///< bytes between the beginnings of two rows
  /// For listed rows: the byte offset at which row n begins within its place in shared memory.
  uint8_t shift[kDecodeKeys];
};

/// Information about a stage with up to kTiles tiles. The warp writes it when it starts the loads.
template <int kTiles>
struct DecodeHeader {
  int32_t offsets[kTiles * kDecodeKeys];
  TileInfo info;
  StageRows keys, values;
};

/// Describes a copy of the keys or of the values of a tile. Within a page, they begin at byte
/// `side` and have `bytes` bytes each.
struct RowCopy {
  uint32_t to;  ///< destination in shared memory, with room_of_rows() bytes
  int side, bytes;
  PageType type;
};

/// Returns the bytes between the beginnings of two listed rows in shared memory. A listed row may
/// begin at any even address, and all 16-byte pieces that contain a part of the row are copied.
LH_BOTH int pitch_of_rows(int bytes) { return (bytes + 15) / 16 * 16 + 16; }
LH_BOTH int room_of_rows(int bytes) { return kDecodeKeys * pitch_of_rows(bytes); }

/// Copies `pieces` consecutive pieces of 16 bytes. The lanes copy 32 pieces together. Each lane
/// copies kAtOnce pieces between two checks for the end.
template <int kAtOnce = 1>
__device__ __forceinline__ void copy_row_pieces(uint32_t to, const std::byte* from, int pieces) {
  const int lane = threadIdx.x % 32;
  if constexpr (kAtOnce == 1) {
#pragma unroll 1
    for (int c = lane; c < pieces; c += 32) copy_16_once(to + 16 * c, from + 16 * c, true);
    return;
  }
  constexpr int kBytes = 512;  // bytes that the 32 lanes copy together
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

/// Copies the rows of 16 slots of one page. The rows are consecutive and begin at a multiple of 16
/// bytes.
__device__ __forceinline__ void copy_stretch(const std::byte* page, int32_t slot,
                                             const RowCopy& copy, StageRows& rows) {
  copy_row_pieces(copy.to, page + copy.side + slot % kPageRows * copy.bytes, copy.bytes);
  if (threadIdx.x % 32 == 0) {
    rows.type = copy.type;
    rows.listed = false;
    rows.pitch = static_cast<uint16_t>(copy.bytes);
  }
}

/// Copies 16 listed rows. Lane n < 16 passes the page of row n (null if the slot holds no key) and
/// the row number within the page.
__device__ __forceinline__ void copy_listed(const std::byte* page, int32_t row, const RowCopy& copy,
                                            StageRows& rows) {
  const int lane = threadIdx.x % 32, pitch = pitch_of_rows(copy.bytes), pieces = pitch / 16;
  const auto begin = reinterpret_cast<uintptr_t>(page) + static_cast<uintptr_t>(copy.side) +
                     static_cast<uintptr_t>(row) * static_cast<uintptr_t>(copy.bytes);
  const int shift = static_cast<int>(begin % 16);
  const auto first = static_cast<unsigned long long>(begin - static_cast<uintptr_t>(shift));
  const int wanted = page == nullptr ? 0 : (shift + copy.bytes + 15) / 16;
#pragma unroll 1
  for (int c = lane; c < kDecodeKeys * pieces; c += 32) {
    // All lanes that copy a piece take part in the shuffles. In the last step, these may be only
    // the first 16 lanes.
    const unsigned mask = kDecodeKeys * pieces - (c - lane) < 32 ? 0xffffu : ~0u;
    const int n = c / pieces, piece = c % pieces;
    const auto from = __shfl_sync(mask, first, n);
    if (piece < __shfl_sync(mask, wanted, n)) {
      copy_16_once(copy.to + static_cast<uint32_t>(n * pitch + 16 * piece),
                   reinterpret_cast<const std::byte*>(from) + 16 * piece, true);
    }
  }
  if (lane < kDecodeKeys) rows.shift[lane] = static_cast<uint8_t>(shift);
  if (lane == 0) {
    rows.type = copy.type;
    rows.listed = true;
    rows.pitch = static_cast<uint16_t>(pitch);
  }
}

/// A stored row in shared memory. It has the members that the functions of stored_row.h require of
/// a row.
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

/// Converts 16 rows to bf16. If bit n of `present` is not set, slot n holds no key, and its row
/// becomes zeros.
template <int D>
__device__ __forceinline__ void expand_rows(uint32_t from, const StageRows& rows, PageType type,
                                            uint32_t present, uint32_t to) {
  // A row has kChunks groups of 8 elements. A lane converts kOwn groups.
  constexpr int kChunks = D / 8, kOwn = kDecodeKeys * kChunks / 32;
  constexpr int kBatch = D > 128 ? 1 : kOwn % 4 == 0 ? 4 : kOwn % 3 == 0 ? 3 : 1;
  const int lane = threadIdx.x % 32, pitch = rows.pitch;
  const uint8_t* const shift = rows.listed ? rows.shift : nullptr;
  with_page_type(type, [&](auto of) {
  // Several groups of 8 elements are processed at once, with all loads before the stores, because
  // each store waits for the loads before it.
#pragma unroll 1
    for (int c = lane; c < kDecodeKeys * kChunks; c += 32 * kBatch) {
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

/// Calls f with the block type of a tile as a compile-time constant. Keys that are stored
/// Hadamard-rotated are multiplied as stored, so they count as plain Q4_0.
template <class Function>
__device__ __forceinline__ void with_block_type(PageType type, Function&& f) {
  if (type == PageType::kQ8_0) return f(PageTypeConstant<PageType::kQ8_0>());
  f(PageTypeConstant<PageType::kQ4_0>());
}

/// The way in which the tiles of a call are stored and loaded. Each form has its own instance of
/// the decode kernel.
enum class DecodeForm : uint8_t {
  kPlain,            ///< rows in bf16, or of types that are converted to bf16 while they are loaded
  kStored,           ///< rows as stored, which are later converted to bf16 in shared memory
  kBlocks,           ///< consecutive rows in block formats without rotation, multiplied as stored
  kTurned,           ///< like kPlain, with RoPE on read (rope_on_read.cuh)
  kStoredRopeOnRead  ///< like kStored, with RoPE on read
};

/// The stages of a warp: a ring of tiles that are being loaded. In the form kBlocks, a stage has
/// one or two tiles. In the form kStored, there is also memory for the bf16 tile that is being
/// multiplied.
template <int D, DecodeForm F>
class DecodeTiles;

/// Stages of bf16 tiles, which are multiplied without conversion.
template <int D>
class DecodeTiles<D, DecodeForm::kPlain> {
 public:
  struct Stage {
    DecodeTile<D> tile;
    DecodeHeader<1> header;
  };
  static constexpr int kFixedBytes = 0;
  LH_BOTH static int stage_bytes(const DecodePlan&, int) { return static_cast<int>(sizeof(Stage)); }

  __device__ __forceinline__ DecodeTiles(std::byte* memory, const DecodePlan&, int)
      : stages_(reinterpret_cast<Stage*>(memory)) {}

  __device__ __forceinline__ DecodeHeader<1>& header(int stage) const {
    return stages_[stage].header;
  }
  __device__ __forceinline__ void load(const SegmentRecord& s, int32_t slot, int stage) const {
    DecodeTile<D>& tile = stages_[stage].tile;
    load_tile<D, kDecodeKeys, 32, true>(s, slot, shared_address(tile.keys),
                                        shared_address(tile.values), threadIdx.x % 32);
  }
  /// Returns the tile of the stage. Only this warp reads it. The tile is valid until the next load
  /// into the stage is started.
  __device__ __forceinline__ const DecodeTile<D>& tile(int stage) const {
    return stages_[stage].tile;
  }
  /// Returns whether the keys are Hadamard-rotated. If so, the queries must be Hadamard-rotated
  /// too.
  __device__ __forceinline__ bool mixed(int) const { return false; }
  __device__ __forceinline__ uint32_t spare() const { return 0; }

 private:
  Stage* stages_;
};

/// A ring of stages. A stage consists of a header, followed by the stored keys and values of its
/// tiles.
template <int D, int kFixed, int kTiles>
class StoredStages {
 public:
  using Header = DecodeHeader<kTiles>;
  static constexpr int kFixedBytes = kFixed;

  __device__ __forceinline__ StoredStages(std::byte* memory, int stage_bytes, int key_room)
      : stages_(memory + kFixed), stage_bytes_(stage_bytes), key_room_(key_room) {}

  __device__ __forceinline__ Header& header(int stage) const {
    return *reinterpret_cast<Header*>(stages_ + stage * stage_bytes_);
  }
  /// Returns whether the keys of the stage stay Hadamard-rotated, as they are stored. This is the
  /// case for keys in Q4_0, unless they need RoPE on read.
  __device__ __forceinline__ bool mixed(int stage) const {
    const Header& h = header(stage);
    return D % 32 == 0 && h.keys.type == PageType::kHadamardQ4_0 && !h.info.rotate;
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

/// Stages of rows as stored. A stage is converted to bf16 before it is multiplied.
template <int D>
class DecodeTiles<D, DecodeForm::kStored> : public StoredStages<D, sizeof(DecodeTile<D>), 1> {
  using Stages = StoredStages<D, sizeof(DecodeTile<D>), 1>;

 public:
  LH_BOTH static int stage_bytes(const DecodePlan& plan, int) {
    return static_cast<int>(Stages::kHeaderBytes) + room_of_rows(plan.key_bytes) +
           room_of_rows(plan.value_bytes);
  }

  __device__ __forceinline__ DecodeTiles(std::byte* memory, const DecodePlan& plan, int)
      : Stages(memory, stage_bytes(plan, 1), room_of_rows(plan.key_bytes)),
        tile_(*reinterpret_cast<DecodeTile<D>*>(memory)) {}

  __device__ __forceinline__ void load(const SegmentRecord& s, int32_t slot, int stage) const {
    auto& h = this->header(stage);
    if (!lists_rows(s)) {
      const std::byte* const page = page_of(s, slot / kPageRows);
      copy_stretch(page, slot, this->key_copy(s, stage), h.keys);
      copy_stretch(page, slot, this->value_copy(s, stage), h.values);
      return;
    }
    const int key = slot + static_cast<int>(threadIdx.x % 32);
    const bool present = key < slot + kDecodeKeys && key < s.count;
    const int at = present ? __ldg(s.index + key) : 0;
    const std::byte* const page = present ? s.pages[at / kPageRows] : nullptr;
    copy_listed(page, at % kPageRows, this->key_copy(s, stage), h.keys);
    copy_listed(page, at % kPageRows, this->value_copy(s, stage), h.values);
  }
  /// Converts the stage to bf16 and returns the resulting tile. If kMixes is true, keys for which
  /// mixed() is true stay Hadamard-rotated.
  template <bool kMixes = true>
  __device__ __forceinline__ const DecodeTile<D>& tile(int stage) const {
    const auto& h = this->header(stage);
    const unsigned lane = threadIdx.x % 32;
    const uint32_t present =
        __ballot_sync(~0u, lane < kDecodeKeys && h.offsets[lane % kDecodeKeys] != kNoKey);
    const PageType type = kMixes && this->mixed(stage) ? PageType::kQ4_0 : h.keys.type;
    expand_rows<D>(this->keys(stage), h.keys, type, present, shared_address(tile_.keys));
    expand_rows<D>(this->values(stage), h.values, h.values.type, present,
                   shared_address(tile_.values));
    __syncwarp();
    return tile_;
  }
  /// Returns scratch memory for queries. It may be used until tile() is called.
  __device__ __forceinline__ uint32_t spare() const { return shared_address(tile_.keys); }

 private:
  DecodeTile<D>& tile_;
};

/// Stages of block formats, which are multiplied as stored. A stage has two tiles if memory
/// suffices for two such stages, and otherwise one. With two tiles per stage, starting the loads
/// takes half as many instructions per tile. Scratch memory for Hadamard-rotated queries precedes
/// the stages.
inline constexpr int kMostDecodeTiles = 2;
template <int D>
class DecodeTiles<D, DecodeForm::kBlocks>
    : public StoredStages<D, kDecodeUnitRows * kPitch<D>, kMostDecodeTiles> {
  using Stages = StoredStages<D, kDecodeUnitRows * kPitch<D>, kMostDecodeTiles>;

 public:
  LH_BOTH static int stage_bytes(const DecodePlan& plan, int tiles) {
    return static_cast<int>(Stages::kHeaderBytes) +
           tiles * kDecodeKeys * (plan.key_bytes + plan.value_bytes);
  }

  __device__ __forceinline__ DecodeTiles(std::byte* memory, const DecodePlan& plan, int tiles)
      : Stages(memory, stage_bytes(plan, tiles), tiles * kDecodeKeys * plan.key_bytes),
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
  /// Like copy_stretch(), but the row size is a compile-time constant that depends on the type.
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
