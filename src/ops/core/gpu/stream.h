#pragma once
// A CUDA stream as a pointer, so that headers of this folder include no CUDA headers.

struct CUstream_st;

namespace longhaul::cuda {

using Stream = CUstream_st*;  ///< cudaStream_t: work runs in order; launches return at once

}  // namespace longhaul::cuda
