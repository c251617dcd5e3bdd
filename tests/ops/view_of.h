#pragma once
// Views of the vectors in which tests keep their values.

#include <vector>

#include "base/array.h"

namespace longhaul::testing_support {

template <class T>
View<T> view_of(std::vector<T>& numbers) {
  return View<T>(std::span<T>(numbers));
}

template <class T>
View<const T> view_of(const std::vector<T>& numbers) {
  return View<const T>(std::span<const T>(numbers));
}

}  // namespace longhaul::testing_support
