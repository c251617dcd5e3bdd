#pragma once
// Measures peak speeds of this machine: products of the GEMM library, and reading memory.

#include <cstdint>
#include <vector>

#include "bench/library_gemm.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

struct GemmPeak {
  GemmShape shape;
  /// Whether this is a shape of the model's own matrices, with a chunk of rows.
  bool of_model = false;
  double bf16 = 0;  ///< FLOP/s of the GEMM library; 0: product not supported
  double f32 = 0;
  double engine = 0;  ///< FLOP/s of the engine's own product in the selected compute type
};

struct MachinePeak {
  std::vector<GemmPeak> gemms;
  /// Bytes read per second. For a device, the bytes that a copy reads and writes.
  double memory_bytes_per_second = 0;

  /// Returns the speed of the fastest product, including the engine's own. Library products in bf16
  /// count only if `rounded` is true.
  double best(bool rounded) const;
};

/// Sizes of the products. They take two to four seconds with a small model.
struct ProductLoad {
  int64_t rows = 1024;    ///< rows of each product, and all dimensions of the smallest product
  int64_t large = 4096;   ///< outputs and columns of the largest product
  double seconds = 0.15;  ///< minimum time for each product
};

/// Measures large products and products with the model's own shapes, and then memory. Allocates
/// `read_bytes` bytes, which must exceed the caches.
MachinePeak measure_machine(const Model& model, Compute compute, size_t read_bytes,
                            const ProductLoad& load = {});

/// Returns the distinct matrix shapes of the model's first layer, for products with `rows` rows.
std::vector<GemmShape> shapes_of(const Model& model, int64_t rows);

/// Returns a buffer size that is far larger than the last-level cache, but at most a quarter of the
/// free memory.
size_t read_test_bytes();

}  // namespace longhaul
