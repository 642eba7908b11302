#include "cli/entry.hpp"

int main(int argc, char** argv) { return allm::cli::run_allm(argc, argv); }
