#include "attention/restored_lists.h"

#include <algorithm>

#include "base/error.h"

namespace longhaul {
namespace {

int heads_of(const KvStore& store, int layer) {
  return store.layout().heads[static_cast<size_t>(layer)];
}

}  // namespace

void expect_length(const KvStore& store, int layer, int head, int64_t rows) {
  if (store.length(layer, head) == rows) return;
  user_error("layer {} keeps {} rows in list {}, expected {}", layer, store.length(layer, head),
             head, rows);
}

void expect_in_memory(const KvStore& store, int layer, int64_t begin, int64_t end) {
  for (int head = 0; head < heads_of(store, layer); ++head) {
    if (store.in_memory(layer, head, begin, std::min(end, store.length(layer, head)))) continue;
    user_error("layer {} has rows of list {} in the slower tier that must be in memory", layer,
               head);
  }
}

void expect_all_tokens(const KvStore& store, int layer, int64_t tokens) {
  for (int head = 0; head < heads_of(store, layer); ++head) {
    expect_length(store, layer, head, tokens);
  }
  expect_in_memory(store, layer, 0, tokens);
}

void expect_all_tokens(const KvStore& store, int64_t tokens) {
  for (int layer = 0; layer < store.layout().layers(); ++layer) {
    expect_all_tokens(store, layer, tokens);
  }
}

int64_t expect_equal_lists(const KvStore& store, int layer) {
  if (heads_of(store, layer) == 0) return 0;
  const int64_t length = store.length(layer, 0);
  expect_all_tokens(store, layer, length);
  return length;
}

void expect_kept_rows(const KvStore& store, const ModelShape& shape, int64_t tokens,
                      bool nothing_left) {
  for (int layer = 0; layer < shape.layers; ++layer) {
    if (nothing_left || shape.own_window(layer) > 0) {
      expect_all_tokens(store, layer, tokens);
    } else {
      expect_equal_lists(store, layer);
    }
  }
}

}  // namespace longhaul
