#pragma once
// PageMemory is the interface for allocating the pages of KV stores.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/place.h"

namespace longhaul {

/// Allocates pages of one size. A page may have several owners: the stores of sequences with the
/// same first tokens share pages until one of them writes. Several threads may call the functions
/// at the same time.
class PageMemory {
 public:
  virtual ~PageMemory() = default;

  virtual Place place() const = 0;  ///< returns the location of the pages
  virtual size_t page_bytes() const = 0;

  /// Returns a page with one owner. It is aligned to 64 bytes, and its contents are undefined.
  /// Throws std::bad_alloc.
  virtual std::byte* acquire() = 0;
  virtual void share(std::byte* page) = 0;    ///< adds an owner to the page
  virtual void release(std::byte* page) = 0;  ///< removes an owner; a page without owners is free
  /// Returns whether the page has more than one owner.
  virtual bool shared(const std::byte* page) const = 0;
  virtual size_t pages_in_use() const = 0;  ///< returns the number of pages with at least one owner

  // These functions handle many pages at once. Null pages are ignored.
  /// Appends `count` new pages to `pages`. If it throws, `pages` has those that were acquired.
  virtual void acquire_all(int64_t count, std::vector<std::byte*>& pages) {
    for (; count > 0; --count) pages.push_back(acquire());
  }
  virtual void share_all(std::span<std::byte* const> pages) {
    for (std::byte* page : pages) {
      if (page != nullptr) share(page);
    }
  }
  virtual void release_all(std::span<std::byte* const> pages) {
    for (std::byte* page : pages) {
      if (page != nullptr) release(page);
    }
  }
};

}  // namespace longhaul
