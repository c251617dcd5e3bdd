#pragma once
// Device memory that a GPU's operations on blocks of stored rows reuse between calls.

#include <vector>

#include "ops/attention/kv.h"
#include "ops/core/gpu/room.h"
#include "ops/maps/score_plan.h"

namespace longhaul::cuda {

struct BlockRooms {
  explicit BlockRooms(GpuQueue& queue) : lists(queue), scratch(queue) {}

  /// Uploads the page addresses of `of` and returns their device address. If they equal those of
  /// the previous call, nothing is uploaded, because a copy between two kernels takes 5 us.
  const PageTable* upload_tables(std::span<const PagedRows> of) {
    tables.clear();
    for (const PagedRows& list : of) tables.push_back(table_of(list));
    if (tables != sent) {
      sent.clear();
      lists.upload(std::span<const PageTable>(tables));
      sent = tables;
    }
    return static_cast<const PageTable*>(lists.data);
  }

  Room lists, scratch;
  std::vector<PageTable> tables, sent;
};

}  // namespace longhaul::cuda
