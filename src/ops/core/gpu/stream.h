#pragma once
// A CUDA stream as a pointer, so that headers of this folder include no CUDA headers.

struct CUstream_st;

namespace longhaul::cuda {

/// cudaStream_t: queued work runs in order, and launches return at once.
using Stream = CUstream_st*;

}  // namespace longhaul::cuda
