#include "attention/parts/list_checks.h"

#include <algorithm>

#include "base/error.h"

namespace longhaul {
namespace {

int heads_of(const KvStore& store, int layer) {
  return store.layout().heads[static_cast<size_t>(layer)];
}

}  // namespace

void expect_length(const KvStore& store, int layer, int list, int64_t rows) {
  if (store.length(layer, list) == rows) return;
  user_error("layer {} keeps {} rows in list {}, expected {}", layer, store.length(layer, list),
             list, rows);
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

int64_t expect_equal_lists(const KvStore& store, int layer) {
  if (heads_of(store, layer) == 0) return 0;
  const int64_t length = store.length(layer, 0);
  expect_all_tokens(store, layer, length);
  return length;
}

}  // namespace longhaul
