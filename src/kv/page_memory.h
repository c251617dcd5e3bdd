#pragma once
// Allocates the pages of a KV store.

#include <cstddef>

#include "base/place.h"

namespace longhaul {

/// Memory for pages of one size, each of which may have several owners: sequences with a common
/// prefix share its pages until one of them writes. May be used by several threads.
class PageMemory {
 public:
  virtual ~PageMemory() = default;

  virtual Place place() const = 0;  ///< the place of the pages' memory
  virtual size_t page_bytes() const = 0;

  /// A page with one owner, 64-byte aligned; contents undefined. Throws std::bad_alloc.
  virtual std::byte* acquire() = 0;
  virtual void share(std::byte* page) = 0;    ///< adds an owner
  virtual void release(std::byte* page) = 0;  ///< removes an owner; the last one frees the memory
  virtual bool shared(const std::byte* page) const = 0;  ///< whether it has more than one owner
  virtual size_t pages_in_use() const = 0;               ///< number of pages with at least one
                                                         ///< owner
};

}  // namespace longhaul
