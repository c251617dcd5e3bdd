#pragma once
// Random weight matrices, on the host and on the device.

#include <vector>

#include "../ops/reference_weights.h"
#include "on_device.h"
#include "ops/attention/stored_key.h"
#include "ops/matmul/matrix.gpu.h"

namespace longhaul::cuda {

struct HostMatrix {
  HostMatrix(DType type, int64_t rows, int64_t cols, uint32_t seed = 3)
      : bytes(random_weights(type, rows * cols, seed)) {
    view.data = reinterpret_cast<const std::byte*>(bytes.data());
    view.type = type;
    view.rank = 2;
    view.shape = {rows, cols, 1, 1};
    view.name = "test";
  }
  /// A matrix with the given values [rows, cols], each row stored like a key.
  HostMatrix(DType type, int64_t rows, int64_t cols, const std::vector<float>& numbers)
      : HostMatrix(type, rows, cols) {
    const size_t row = bytes_of(type, cols);
    for (int64_t r = 0; r < rows; ++r) {
      write_row(type, false, numbers.data() + r * cols, cols,
                reinterpret_cast<std::byte*>(bytes.data()) + static_cast<size_t>(r) * row);
    }
  }
  std::vector<uint8_t> bytes;
  TensorView view;
};

/// Uploads in small chunks, so that there are several.
inline Matrix on_device(const TensorView& weight, size_t chunk_bytes = 4096) {
  Matrix matrix(weight.type, weight.rows(), weight.cols());
  Uploader uploader(nullptr, chunk_bytes);
  uploader.put(weight, matrix);
  uploader.finish();
  return matrix;
}

inline std::vector<DType> device_types() {
  std::vector<DType> types;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (cuda::on_device(static_cast<DType>(i))) types.push_back(static_cast<DType>(i));
  }
  return types;
}

}  // namespace longhaul::cuda
