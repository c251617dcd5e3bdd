#pragma once

#include "jinja/budget.h"

namespace longhaul::jinja {

/// Error from a template's raise_exception(): it does not support these messages.
class Refusal : public Fault {
 public:
  using Fault::Fault;
};

}  // namespace longhaul::jinja
