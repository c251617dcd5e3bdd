#include "kv/list_checks.h"

#include <algorithm>

#include "base/error.h"
#include "base/nth.h"

namespace longhaul {
void expect_length(const KvStore& store, int layer, int list, int64_t rows) {
  if (store.length(layer, list) == rows) return;
  user_error("layer {} keeps {} rows in list {}, expected {}", layer, store.length(layer, list),
             list, rows);
}

void expect_in_memory(const KvStore& store, int layer, int64_t begin, int64_t end) {
  for (int head = 0; head < store.lists(layer); ++head) {
    if (store.in_memory(layer, head, begin, std::min(end, store.length(layer, head)))) continue;
    user_error("layer {} has rows of list {} in the slower tier that must be in memory", layer,
               head);
  }
}

void expect_equal_lists(const KvStore& store, int layer) {
  if (store.lists(layer) == 0) return;
  const int64_t length = store.length(layer, 0);
  for (int list = 1; list < store.lists(layer); ++list) expect_length(store, layer, list, length);
  expect_in_memory(store, layer, 0, length);
}

}  // namespace longhaul
