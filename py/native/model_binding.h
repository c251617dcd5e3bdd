#pragma once
// Bindings of opened models and of texts that were read.

#include <nanobind/nanobind.h>

#include <memory>

#include "session.h"

namespace nb = nanobind;

namespace longhaul::python {

struct PyModel {
  std::shared_ptr<OpenModel> model;
};

struct PyText {
  std::shared_ptr<ReadText> text;
};

void bind_model(nb::module_& m);
void bind_text(nb::module_& m);

/// A Python list of token numbers.
std::vector<int32_t> tokens_of(nb::handle list);

}  // namespace longhaul::python
