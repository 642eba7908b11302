// allm-helper: starts and ends the commands of a program whose main does not call run_as_worker_if_asked, because
// somebody else owns it. It has no tools, so handlers of worker tools are not in it.
#include <cstdio>

#include "allm/workers.hpp"

int main() {
  allm::run_as_worker_if_asked();  // does not return when a program started this process
  std::fputs("allm-helper is started by programs that use allm; it does nothing by itself.\n", stderr);
  return 2;
}
