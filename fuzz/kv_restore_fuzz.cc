// A KV store from a session file with a correct checksum and arbitrary contents, then the
// operations of a session on the store.

#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/byte_stream.h"
#include "base/error.h"
#include "input_file.h"
#include "kv/kv_store.h"

namespace {

using namespace longhaul;

/// Truncates the store and moves its rows, as after a method's decision. Every page must still
/// exist.
void use(KvStore& store) {
  const KvLayout& layout = store.layout();
  const std::vector<float> row(static_cast<size_t>(layout.head_dim) * 4, 1.0f);
  std::vector<float> k(row.size()), v(row.size());
  for (int layer = 0; layer < layout.layers(); ++layer) {
    const int heads = layout.heads[static_cast<size_t>(layer)];
    const View<const float> added(row.data(), int64_t{heads} * layout.head_dim);
    store.append(layer, 1, added, added);
    for (int head = 0; head < heads; ++head) {
      std::vector<int32_t> kept;
      for (int64_t i = 0; i < store.length(layer, head); ++i) {
        store.read(layer, head, i, k.data(), v.data());
        (void)store.token_of(layer, head, i);
        if (i % 3 != 1) kept.push_back(static_cast<int32_t>(i));
      }
      (void)store.column(layer, head, "attention");
      store.keep(layer, head, kept);
    }
  }
  store.truncate(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::filesystem::path file = fuzzing::folder() / "session";
  ByteWriter writer(file);
  writer.bytes(data, size);
  writer.finish();
  KvLayout layout;
  layout.heads = {1, 2};
  layout.head_dim = 8;
  layout.page_rows = 4;
  KvStore store(layout);
  try {
    ByteReader in(file);
    store.restore(in);
    use(store);
  } catch (const UserError& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();
    if (store.longest() != 0) std::abort();  // the store is unchanged
  }
  return 0;
}
