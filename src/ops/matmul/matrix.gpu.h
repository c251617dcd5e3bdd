#pragma once
// Weight matrices in device memory, and their upload.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/tensor_view.h"
#include "ops/core/gpu/device_buffer.gpu.h"
#include "ops/core/gpu/stream.h"
#include "ops/matmul/block_layout.h"
#include "ops/matmul/fp8_rows.gpu.h"

namespace longhaul::cuda {

/// A matrix [rows, cols], or a range of its rows, in the form that kernels read. A view does not
/// own the memory.
struct MatrixView {
  DType type = DType::F32;
  int64_t rows = 0, cols = 0;
  size_t row_stride = 0;                      ///< bytes between the beginnings of two rows of the
                                              ///< first plane
  const std::byte* planes[kMostPlanes] = {};  ///< the planes of the matrix (block_layout.h)
  const uint32_t* book = nullptr;             ///< code book (code_books.h); null: the type has none
  const uint16_t* bf16 = nullptr;             ///< copy in bf16 [rows, bf16_stride]; null: there is
                                              ///< none
  int64_t bf16_stride = 0;
  Fp8Rows fp8;  ///< copy of all rows in 8-bit floats; empty: there is none

  /// Returns a view of rows [begin, begin + count).
  MatrixView slice_rows(int64_t begin, int64_t count) const;
};

/// Returns the number of columns of a matrix's bf16 copy. Columns of zeros are added, so that rows
/// are aligned to 16 bytes.
inline int64_t bf16_stride_of(int64_t cols) { return (cols + 7) / 8 * 8; }

class Matrix {
 public:
  Matrix() = default;
  /// Allocates device memory for a matrix [rows, cols] of a type for which on_device() is true.
  /// Uploader::put() fills the matrix. Throws std::bad_alloc.
  Matrix(DType type, int64_t rows, int64_t cols);

  MatrixView view() const { return view_; }
  int64_t rows() const { return view_.rows; }
  int64_t cols() const { return view_.cols; }
  size_t bytes() const { return planes_.bytes() + book_.bytes() + copy_bytes(); }
  /// Returns the size in bytes of the bf16 copy and the copy in 8-bit floats.
  size_t copy_bytes() const { return bf16_.bytes() + fp8_.bytes(); }

  /// Makes a bf16 copy of the uploaded weights, which prefill products read. Does nothing if the
  /// weights are bf16.
  void keep_bf16(Stream stream);
  /// Makes a copy in 8-bit floats from bf16 weights, whose rows begin `stride` elements apart.
  void keep_fp8(Stream stream, const uint16_t* bf16, int64_t stride);
  void drop_copies();

 private:
  DeviceBuffer planes_, book_, bf16_, fp8_;
  MatrixView view_;
};

/// Copies weights to the device through two pinned buffers. While one buffer is transferred, all
/// threads fill the other from the mapped model file. Only one thread at a time may call its
/// functions.
class Uploader {
 public:
  static constexpr size_t kChunkBytes = size_t{32} << 20;
  /// The copies are queued on `stream`, which must outlive this object.
  explicit Uploader(Stream stream, size_t chunk_bytes = kChunkBytes);
  ~Uploader();

  /// Copies the rows of `weight` to rows first_row, first_row + 1 and so on of `to`, which must
  /// have the same type and number of columns. One matrix may receive the rows of several tensors.
  /// Returns as soon as the bytes of `weight` have been read.
  void put(const TensorView& weight, Matrix& to, int64_t first_row = 0);
  /// Copies `bytes` bytes from host memory to device memory.
  void put(const void* from, size_t bytes, void* to);
  /// Waits until all copies have arrived.
  void finish();

 private:
  struct Slot;
  Slot& next(size_t bytes);
  void fill(Slot& slot, const void* from, size_t bytes);
  void put_rows(const TensorView& weight, int64_t begin, int64_t count, const MatrixView& to,
                int64_t at);

  Stream stream_;
  size_t chunk_bytes_;
  int turn_ = 0;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace longhaul::cuda
