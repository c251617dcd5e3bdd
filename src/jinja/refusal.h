#pragma once

#include "jinja/budget.h"

namespace longhaul::jinja {

/// Thrown by a template's raise_exception(). It means that the template does not support the
/// messages.
class Refusal : public Fault {
 public:
  using Fault::Fault;
};

}  // namespace longhaul::jinja
