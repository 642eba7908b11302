// The private part of Engine, for the layers above.
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
  EngineOptions options;  // without tools: they are in `tools`
  std::shared_ptr<const ToolSet> tools;
  std::shared_ptr<const ParamDefaults> params;
  std::shared_ptr<Runtime> runtime;
};

// The library's access to what the public header hides.
class EngineAccess {
 public:
  using Impl = Engine::Impl;
  static const Impl& impl(const Engine& engine) { return *pointer(engine); }
  static const std::shared_ptr<const Impl>& pointer(const Engine& engine) {
    return engine.impl_ ? engine.impl_ : empty();
  }
  // The private part of an engine without an adapter.
  static const std::shared_ptr<const Impl>& empty();
};

}  // namespace allm
