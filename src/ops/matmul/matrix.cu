#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/parallel.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/matmul/block_split.h"
#include "ops/matmul/code_books.h"
#include "ops/matmul/expand.gpu.h"
#include "ops/matmul/matrix.gpu.h"

namespace longhaul::cuda {
namespace {

template <class T>
__global__ void split_kernel(BlockSplit<T> s) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < s.count) split_piece(s, i);
}

template <class T>
void split_as(Stream stream, const std::byte* raw, size_t bytes, const MatrixView& to,
              int64_t first_block) {
  const BlockSplit<T> s = block_split<T>(to.type, raw, bytes, first_block, to.planes);
  if (s.count == 0) return;
  split_kernel<<<(s.count + 255) / 256, 256, 0, stream>>>(s);
  check_launch("split_blocks");
}

void split_blocks(Stream stream, const std::byte* raw, size_t bytes, const MatrixView& to,
                  int64_t first_block) {
  LH_ASSERT(bytes < (size_t{1} << 31));
  if (splits_by_pairs(to.type)) {
    split_as<uint16_t>(stream, raw, bytes, to, first_block);
  } else {
    split_as<uint8_t>(stream, raw, bytes, to, first_block);
  }
}

}  // namespace

MatrixView MatrixView::slice_rows(int64_t begin, int64_t count) const {
  LH_ASSERT(begin >= 0 && count >= 0 && begin + count <= rows);
  MatrixView part = *this;
  part.rows = count;
  if (bf16 != nullptr) part.bf16 = bf16 + begin * bf16_stride;
  part.fp8 = {};
  if (!is_block_type(type)) {
    part.planes[0] = planes[0] + static_cast<size_t>(begin) * row_stride;
    return part;
  }
  const int64_t blocks = begin * (cols / traits(type).block_size);
  int p = 0;
  for (const BlockField& field : block_fields(type)) {
    part.planes[p] = planes[p] + blocks * field.bytes;
    ++p;
  }
  return part;
}

Matrix::Matrix(DType type, int64_t rows, int64_t cols) {
  const PlaneLayout layout = plane_layout(type, rows, cols);
  planes_ = DeviceBuffer(layout.bytes);
  view_.type = type;
  view_.rows = rows;
  view_.cols = cols;
  view_.row_stride = layout.row_stride;
  for (int p = 0; p < layout.planes; ++p) {
    view_.planes[p] = planes_.data() + layout.offset[static_cast<size_t>(p)];
  }
  if (!is_block_type(type) && layout.row_stride != bytes_of(type, cols) && layout.bytes > 0) {
    check(cudaMemset(planes_.data(), 0, layout.bytes), "cudaMemset");  // zeroes the ends of rows
  }
  if (const std::vector<uint32_t> book = code_book(type); !book.empty()) {
    book_ = DeviceBuffer(book.size() * sizeof(uint32_t));
    check(cudaMemcpy(book_.data(), book.data(), book_.bytes(), cudaMemcpyHostToDevice), "book");
    check(cudaStreamSynchronize(nullptr), "book");  // other streams do not wait for a small copy
    view_.book = book_.as<const uint32_t>();
  }
  if (type == DType::BF16) {
    view_.bf16 = planes_.as<const uint16_t>();
    view_.bf16_stride = static_cast<int64_t>(layout.row_stride / 2);
  }
}

void Matrix::keep_bf16(Stream stream) {
  if (view_.bf16 != nullptr) return;
  const int64_t stride = bf16_stride_of(view_.cols);
  bf16_ = DeviceBuffer(static_cast<size_t>(view_.rows * stride) * sizeof(uint16_t));
  expand_bf16(stream, view_, 0, view_.rows, bf16_.as<uint16_t>());
  view_.bf16 = bf16_.as<const uint16_t>();
  view_.bf16_stride = stride;
}

void Matrix::keep_fp8(Stream stream, const uint16_t* bf16, int64_t stride) {
  fp8_ = DeviceBuffer(fp8_bytes(view_.rows, view_.cols));
  view_.fp8 = fp8_rows_in(fp8_.data(), view_.rows, view_.cols);
  round_to_fp8(stream, bf16, stride, view_.rows, view_.cols, view_.fp8);
}

void Matrix::drop_copies() {
  fp8_ = {};
  view_.fp8 = {};
  if (view_.type == DType::BF16) return;
  bf16_ = {};
  view_.bf16 = nullptr;
  view_.bf16_stride = 0;
}

struct Uploader::Slot {
  PinnedBuffer host;
  DeviceBuffer raw;
  cudaEvent_t free = nullptr;  // recorded after the work queued from this slot
};

Uploader::Uploader(Stream stream, size_t chunk_bytes)
    : stream_(stream), chunk_bytes_(chunk_bytes), slots_(new Slot[2]) {
  for (int i = 0; i < 2; ++i) {
    check(cudaEventCreateWithFlags(&slots_[i].free, cudaEventDisableTiming), "cudaEventCreate");
  }
}

Uploader::~Uploader() {
  cudaStreamSynchronize(stream_);
  for (int i = 0; i < 2; ++i) {
    if (slots_[i].free != nullptr) cudaEventDestroy(slots_[i].free);
  }
}

/// Returns a slot without pending copies and with memory for `bytes`.
Uploader::Slot& Uploader::next(size_t bytes) {
  Slot& slot = slots_[turn_];
  turn_ ^= 1;
  check(cudaEventSynchronize(slot.free), "cudaEventSynchronize");
  if (slot.host.bytes() < bytes) {
    slot.host = {};
    slot.host = PinnedBuffer(std::max(bytes, chunk_bytes_));
    slot.raw = {};
    slot.raw = DeviceBuffer(slot.host.bytes());
  }
  return slot;
}

void Uploader::fill(Slot& slot, const void* from, size_t bytes) {
  constexpr int64_t kGrain = 1 << 20;
  const auto* source = static_cast<const std::byte*>(from);
  parallel_ranges(static_cast<int64_t>(bytes), kGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(slot.host.data() + begin, source + begin, static_cast<size_t>(end - begin));
  });
}

void Uploader::put(const void* from, size_t bytes, void* to) {
  for (size_t at = 0; at < bytes; at += chunk_bytes_) {
    const size_t part = std::min(chunk_bytes_, bytes - at);
    Slot& slot = next(part);
    fill(slot, static_cast<const std::byte*>(from) + at, part);
    check(cudaMemcpyAsync(static_cast<std::byte*>(to) + at, slot.host.data(), part,
                          cudaMemcpyHostToDevice, stream_),
          "upload");
    check(cudaEventRecord(slot.free, stream_), "cudaEventRecord");
  }
}

void Uploader::put(const TensorView& weight, Matrix& to, int64_t first_row) {
  const MatrixView& view = to.view();
  LH_ASSERT(weight.type == view.type && weight.cols() == view.cols);
  LH_ASSERT(first_row >= 0 && first_row + weight.rows() <= view.rows);
  const size_t row_bytes = weight.row_bytes();
  if (row_bytes == 0) return;
  const auto step = std::max<int64_t>(1, static_cast<int64_t>(chunk_bytes_ / row_bytes));
  for (int64_t begin = 0; begin < weight.rows(); begin += step) {
    put_rows(weight, begin, std::min(step, weight.rows() - begin), view, first_row + begin);
  }
}

void Uploader::put_rows(const TensorView& weight, int64_t begin, int64_t count,
                        const MatrixView& to, int64_t at) {
  const size_t row_bytes = weight.row_bytes(), bytes = static_cast<size_t>(count) * row_bytes;
  Slot& slot = next(bytes);
  fill(slot, weight.row(begin), bytes);
  if (is_block_type(to.type)) {
    check(
        cudaMemcpyAsync(slot.raw.data(), slot.host.data(), bytes, cudaMemcpyHostToDevice, stream_),
        "upload");
    split_blocks(stream_, slot.raw.data(), bytes, to, at * (to.cols / traits(to.type).block_size));
  } else {
    auto* plane = const_cast<std::byte*>(to.planes[0]) + static_cast<size_t>(at) * to.row_stride;
    check(cudaMemcpy2DAsync(plane, to.row_stride, slot.host.data(), row_bytes, row_bytes,
                            static_cast<size_t>(count), cudaMemcpyHostToDevice, stream_),
          "upload");
  }
  check(cudaEventRecord(slot.free, stream_), "cudaEventRecord");
}

void Uploader::finish() { check(cudaStreamSynchronize(stream_), "upload"); }

}  // namespace longhaul::cuda
