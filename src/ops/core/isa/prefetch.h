#pragma once
// Prefetches memory into the L2 cache. Prefetches into L1 would have to wait for its few fill
// buffers and would evict data in use. For *.isa.cc only.

#include <cstdint>

namespace longhaul::LH_ISA {
namespace {

inline void prefetch_bytes(const void* begin, int bytes) {
  for (int at = 0; at < bytes; at += 64) {
    __builtin_prefetch(static_cast<const char*>(begin) + at, 0, 2);
  }
}

/// Prefetch distance for weights. The hardware's own prefetcher stops at the end of each page. Rows
/// are contiguous, so this prefetch continues into the next row. With half this distance, one
/// thread of a Zen 4 reads Q8_0 from memory at 14 instead of 20 GB/s.
inline constexpr int kPrefetchBytes = 6144;

/// Prefetches the `bytes` bytes that lie kPrefetchBytes after `weights`. A loop over weights calls
/// it before it uses `bytes` bytes at `weights`.
inline void prefetch_ahead_of(const uint8_t* weights, int bytes) {
  prefetch_bytes(weights + kPrefetchBytes, bytes);
}

}  // namespace
}  // namespace longhaul::LH_ISA
