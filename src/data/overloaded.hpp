// A visitor made of lambdas, for std::visit.
#pragma once

namespace allm {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

}  // namespace allm
