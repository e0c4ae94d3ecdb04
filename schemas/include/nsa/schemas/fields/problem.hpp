// Fields of problems, variants and devices: what was run, and on what.
#pragma once

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/fields/description.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/variant.hpp"

namespace nsa::fields {

template <>
inline constexpr auto kFields<Geometry> = std::tuple{
    optional("cmp_block", &Geometry::cmp_block), optional("cmp_stride", &Geometry::cmp_stride),
    optional("sel_block", &Geometry::sel_block), optional("sel_count", &Geometry::sel_count),
    optional("window", &Geometry::window)};

template <>
inline constexpr auto kFields<Selection> =
    std::tuple{optional("pattern", &Selection::pattern), optional("overlap", &Selection::overlap)};

template <>
inline constexpr auto kFields<ModelShape> =
    std::tuple{unless_default("model_dim", &ModelShape::model_dim),
               unless_default("layers", &ModelShape::layers),
               unless_default("vocab_size", &ModelShape::vocab_size)};

template <>
inline constexpr auto kFields<Problem> =
    std::tuple{optional("direction", &Problem::direction),
               optional("phase", &Problem::phase),
               optional("seq_lens", &Problem::seq_lens),
               optional("context_lens", &Problem::context_lens),
               optional("q_heads", &Problem::q_heads),
               optional("kv_heads", &Problem::kv_heads),
               optional("head_dim_k", &Problem::head_dim_k),
               optional("head_dim_v", &Problem::head_dim_v),
               inlined(&Problem::geometry),
               optional("dtype", &Problem::dtype),
               optional("selection", &Problem::selection),
               inlined(&Problem::model)};

template <>
inline constexpr auto kFields<ProblemClass> =
    std::tuple{optional("direction", &ProblemClass::direction),
               optional("phase", &ProblemClass::phase),
               optional("q_heads", &ProblemClass::q_heads),
               optional("kv_heads", &ProblemClass::kv_heads),
               optional("head_dim_k", &ProblemClass::head_dim_k),
               optional("head_dim_v", &ProblemClass::head_dim_v),
               inlined(&ProblemClass::geometry),
               optional("dtype", &ProblemClass::dtype),
               optional("batch_bin", &ProblemClass::batch_bin),
               optional("overlap_bin", &ProblemClass::overlap_bin)};

template <>
inline constexpr auto kFields<VariantId> =
    std::tuple{required("stages", &VariantId::stages), required("name", &VariantId::name),
               optional("point", &VariantId::point)};

template <>
inline constexpr auto kFields<Device> =
    std::tuple{required("id", &Device::id),
               required("backend", &Device::backend),
               required("name", &Device::name),
               optional("uuid", &Device::uuid),
               optional("compute_capability", &Device::compute_capability),
               optional("multiprocessors", &Device::multiprocessors),
               optional("memory_bytes", &Device::memory_bytes),
               optional("memory_free_bytes", &Device::memory_free_bytes),
               optional("l2_bytes", &Device::l2_bytes),
               optional("power_limit_w", &Device::power_limit_w),
               optional("max_clock_mhz", &Device::max_clock_mhz),
               optional("mig", &Device::mig),
               optional("ecc", &Device::ecc),
               unless_default("isa", &Device::isa),
               unless_default("driver", &Device::driver),
               unless_default("runtime", &Device::runtime)};

template <>
inline constexpr auto kFields<Capability> = std::tuple{
    required("library", &Capability::library), required("usable", &Capability::usable),
    unless_default("version", &Capability::version), unless_default("reason", &Capability::reason)};

template <>
inline constexpr auto kFields<Placed> =
    std::tuple{required("host", &Placed::host), required("device_uuid", &Placed::device_uuid)};

}  // namespace nsa::fields
