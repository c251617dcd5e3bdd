#pragma once
// Measures the peak speeds of this machine: matrix multiplication, and reading memory.

#include <cstdint>
#include <vector>

#include "bench/library_gemm.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

struct GemmPeak {
  GemmShape shape;
  /// Whether this is the shape of one of the model's weight matrices.
  bool of_model = false;
  double bf16 = 0;  ///< FLOP/s of the library oneDNN in bf16; 0: not supported
  double f32 = 0;
  double engine = 0;  ///< FLOP/s of Longhaul's own multiplication in the selected compute type
};

struct MachinePeak {
  std::vector<GemmPeak> gemms;
  /// Bytes that can be read per second. For a device, the bytes that a copy reads and writes per
  /// second.
  double memory_bytes_per_second = 0;

  /// Returns the FLOP/s of the fastest multiplication, of Longhaul or of the library. `rounded` is
  /// true if the engine rounds the inputs of its multiplications. Otherwise the library's
  /// multiplications in bf16 are not comparable and are left out.
  double best(bool rounded) const;
};

/// The sizes of the matrix multiplications. With a small model, the measurement takes two to four
/// seconds.
struct ProductLoad {
  int64_t rows = 1024;    ///< rows of the input; all dimensions of the smallest multiplication
  int64_t large = 4096;   ///< rows and columns of the largest weight matrix
  double seconds = 0.15;  ///< least duration of the measurement of each multiplication
};

/// Measures multiplications with large matrices and with the shapes of the model's own matrices,
/// and then the reading of memory. For the latter, allocates `read_bytes` bytes, which must be more
/// than the caches of the processor can hold.
MachinePeak measure_machine(const Model& model, Compute compute, size_t read_bytes,
                            const ProductLoad& load = {});

/// Returns the shapes of the multiplications with the query, gate and down matrices of the model's
/// first layer, for an input of `rows` rows. Equal shapes are returned only once.
std::vector<GemmShape> shapes_of(const Model& model, int64_t rows);

/// Returns a suitable value for the parameter `read_bytes` of measure_machine(). It is far larger
/// than the last-level cache, but at most a quarter of the free memory.
size_t read_test_bytes();

}  // namespace longhaul
