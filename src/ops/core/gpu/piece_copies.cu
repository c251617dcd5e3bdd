#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/in_launches.cuh"
#include "ops/core/gpu/piece_copies.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 256;

/// The words of some pieces, concatenated.
struct SentWords {
  static constexpr uint32_t kMost = 768, kMostPieces = 48;
  uint32_t pieces;
  uint32_t first[kMostPieces + 1];  ///< index of each piece in `words`
  uint32_t* to[kMostPieces];
  uint32_t words[kMost];
};
static_assert(sizeof(SentWords) <= 4000);  // all cards support 4 KiB of arguments

/// Warps handle the pieces in turn.
__global__ void __launch_bounds__(kThreads) send_kernel(const __grid_constant__ SentWords sent) {
  await_turn();
  for (uint32_t p = threadIdx.x / 32; p < sent.pieces; p += kThreads / 32) {
    const uint32_t first = sent.first[p], count = sent.first[p + 1] - first;
    for (uint32_t i = threadIdx.x % 32; i < count; i += 32) sent.to[p][i] = sent.words[first + i];
  }
}

constexpr int kAtOnce = 4;  ///< words per thread in flight at a time

/// A thread issues all its loads before its stores, since host memory takes over a microsecond to
/// respond.
template <class Word>
__device__ void copy_words(const DeviceBytes& piece) {
  const auto* const from = static_cast<const Word*>(piece.from);
  auto* const to = static_cast<Word*>(piece.to);
  const size_t count = piece.bytes / sizeof(Word), step = gridDim.x * size_t{kThreads};
  for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < count; i += kAtOnce * step) {
    Word words[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (i + k * step < count) words[k] = from[i + k * step];
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (i + k * step < count) to[i + k * step] = words[k];
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    copy_kernel(const __grid_constant__ Records<DeviceBytes> pieces) {
  await_turn();
  const DeviceBytes& piece = pieces.each[blockIdx.y];
  const auto bits =
      reinterpret_cast<uintptr_t>(piece.from) | reinterpret_cast<uintptr_t>(piece.to) | piece.bytes;
  if (bits % sizeof(uint4) == 0) return copy_words<uint4>(piece);
  copy_words<uint32_t>(piece);
}

}  // namespace

void send_pieces(Stream stream, std::span<const DeviceBytes> pieces) {
  SentWords sent;
  sent.pieces = sent.first[0] = 0;
  const auto launch = [&] {
    if (sent.pieces == 0) return;
    launch_early(stream, "send_pieces", send_kernel, 1, kThreads, 0, sent);
    sent.pieces = 0;
  };
  for (const DeviceBytes& piece : pieces) {
    const auto* from = static_cast<const uint32_t*>(piece.from);
    auto* to = static_cast<uint32_t*>(piece.to);
    for (size_t left = piece.bytes / sizeof(uint32_t); left > 0;) {
      const uint32_t used = sent.first[sent.pieces];
      if (sent.pieces == SentWords::kMostPieces || used == SentWords::kMost) {
        launch();
        continue;
      }
      const auto some = static_cast<uint32_t>(std::min<size_t>(left, SentWords::kMost - used));
      std::copy_n(from, some, sent.words + used);
      sent.to[sent.pieces++] = to;
      sent.first[sent.pieces] = used + some;
      from += some;
      to += some;
      left -= some;
    }
  }
  launch();
}

void send_pinned(Stream stream, const DeviceBytes& piece) {
  // For longer pieces the fetch takes longer than the overhead of a copy.
  constexpr size_t kMostFetched = size_t{256} << 10;
  if (whole_words(piece) && piece.bytes <= SentWords::kMost * sizeof(uint32_t)) {
    return send_pieces(stream, {&piece, 1});
  }
  if (whole_words(piece) && piece.bytes <= kMostFetched) return copy_pieces(stream, {&piece, 1});
  check(cudaMemcpyAsync(piece.to, piece.from, piece.bytes, cudaMemcpyHostToDevice, stream),
        "copy to the GPU");
}

void copy_pieces(Stream stream, std::span<const DeviceBytes> pieces) {
  size_t most = 1;
  for (const DeviceBytes& piece : pieces) most = std::max(most, piece.bytes);
  constexpr size_t kEach = kAtOnce * kThreads * sizeof(uint4);  // bytes per thread block
  const auto blocks = static_cast<unsigned>(std::min<size_t>((most + kEach - 1) / kEach, 1024));
  in_launches(pieces, "copy_pieces", [&](const Records<DeviceBytes>& some, unsigned count) {
    launch_early(stream, "copy_pieces", copy_kernel, dim3(blocks, count), kThreads, 0, some);
  });
}

}  // namespace longhaul::cuda
