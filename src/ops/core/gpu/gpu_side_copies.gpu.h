#pragma once
// Side copies of a GPU: a stream of its own with low priority. Pieces of device memory are gathered
// into a staging buffer by a kernel, and the buffer is transferred by the copy engine.

#include <memory>

#include "base/side_copies.h"

namespace longhaul::cuda {

class GpuQueue;

std::unique_ptr<SideCopies> make_side_copies(GpuQueue& queue);

}  // namespace longhaul::cuda
