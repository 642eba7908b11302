// What an Engine holds, for the layers above.
#pragma once

#include <cstdint>
#include <memory>

#include "allm/engine.hpp"

#include "engine/option_reader.hpp"
#include "engine/tool_set.hpp"

namespace allm {

class Engine::Impl {
 public:
  std::uint64_t id = 0;
  EngineOptions options;  // its tools are moved into `tools`
  std::shared_ptr<const ToolSet> tools;
  std::shared_ptr<const ParamDefaults> params;
  std::shared_ptr<Runtime> runtime;
};

}  // namespace allm
