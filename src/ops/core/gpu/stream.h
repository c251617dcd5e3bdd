#pragma once
// A CUDA stream by its pointer, so that headers of this folder need none of CUDA's.

struct CUstream_st;

namespace longhaul::cuda {

using Stream = CUstream_st*;  ///< cudaStream_t: work runs in order; launches return at once

}  // namespace longhaul::cuda
