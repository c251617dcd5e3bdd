// Access to the GEMM library oneDNN, for linear() in f32. It caches one primitive per shape.

#include <omp.h>

#include <dnnl.hpp>
#include <map>
#include <mutex>
#include <tuple>

#include "base/buffer.h"
#include "base/error.h"
#include "ops/core/isa/library_isa.h"
#include "ops/core/library_matmul.h"
#include "ops/core/sgemm.h"
#include "ops/matmul/linear.h"

namespace longhaul {
namespace {

using dnnl::memory;

struct Product {
  dnnl::matmul primitive;
  memory::desc a, b, c, scratchpad;
};

/// Scratch memory of our own, one per thread: the library would give concurrent runs of a primitive
/// the same one.
void* scratchpad_of_this_thread(size_t bytes) {
  static thread_local Buffer<std::byte> buffer;
  buffer.resize(bytes);
  return buffer.data();
}

class Products {
 public:
  static Products& instance() {
    static Products products;
    return products;
  }

  void run(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
           int64_t c_stride) {
    // Each of our threads calls the library with one thread: the library's own threads would wait
    // for each other on a busy machine.
    omp_set_num_threads(1);
    const Product p = find(m, n, k, c_stride);
    dnnl::stream stream(engine_);
    memory a_memory(p.a, engine_, const_cast<float*>(a));
    memory b_memory(p.b, engine_, const_cast<float*>(b));
    memory c_memory(p.c, engine_, c);
    memory scratchpad(p.scratchpad, engine_, scratchpad_of_this_thread(p.scratchpad.get_size()));
    p.primitive.execute(stream, {{DNNL_ARG_SRC, a_memory},
                                 {DNNL_ARG_WEIGHTS, b_memory},
                                 {DNNL_ARG_DST, c_memory},
                                 {DNNL_ARG_SCRATCHPAD, scratchpad}});
    stream.wait();
  }

 private:
  Products() : engine_((limit_library_isa(), dnnl::engine::kind::cpu), 0) {}

  Product find(int64_t m, int64_t n, int64_t k, int64_t c_stride) {
    const std::lock_guard lock(mutex_);
    const auto key = std::make_tuple(m, n, k, c_stride);
    const auto found = products_.find(key);
    if (found != products_.end()) return found->second;
    if (products_.size() >= kMostProducts) products_.clear();
    const auto type = memory::data_type::f32;
    const memory::desc a({m, k}, type, memory::format_tag::ab);
    const memory::desc b({k, n}, type, memory::format_tag::ba);
    const memory::desc c({m, n}, type, memory::dims{c_stride, 1});
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc description = library_matmul(engine_, a, b, c, attributes);
    const Product product{dnnl::matmul(description), a, b, c, description.scratchpad_desc()};
    return products_.emplace(key, product).first->second;
  }

  static constexpr size_t kMostProducts = 1024;
  dnnl::engine engine_;
  std::mutex mutex_;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, Product> products_;
};

}  // namespace

void gemm_f32(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
              int64_t c_stride) {
  Products::instance().run(m, n, k, a, b, c, c_stride);
}

void sgemm(int64_t m, int64_t n, int64_t k, Factor a, Factor b, float* c, int64_t c_stride,
           bool add) {
  limit_library_isa();
  omp_set_num_threads(1);
  const auto status =
      dnnl::sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, 1.0f, a.data,
                  a.stride, b.data, b.stride, add ? 1.0f : 0.0f, c, c_stride);
  if (status == dnnl::status::out_of_memory) throw std::bad_alloc();
  LH_ASSERT(status == dnnl::status::success);
}

}  // namespace longhaul
