// JSON of problems and their classes: flat keys, as in the worker protocol.
#include "fields.hpp"

namespace nsa {
namespace {

using fields::put;
using fields::read;

void put_geometry(Json& j, const Geometry& g) {
  put(j, "cmp_block", g.cmp_block);
  put(j, "cmp_stride", g.cmp_stride);
  put(j, "sel_block", g.sel_block);
  put(j, "sel_count", g.sel_count);
  put(j, "window", g.window);
}

void read_geometry(const Json& j, Geometry& g) {
  read(j, "cmp_block", g.cmp_block);
  read(j, "cmp_stride", g.cmp_stride);
  read(j, "sel_block", g.sel_block);
  read(j, "sel_count", g.sel_count);
  read(j, "window", g.window);
}

void put_unless_zero(Json& j, const char* key, std::int64_t value) {
  if (value != 0) put(j, key, value);
}

/// What Problem and ProblemClass have alike.
template <class T>
void put_shape(Json& j, const T& v) {
  put(j, "q_heads", v.q_heads);
  put(j, "kv_heads", v.kv_heads);
  put(j, "head_dim_k", v.head_dim_k);
  put(j, "head_dim_v", v.head_dim_v);
  put_geometry(j, v.geometry);
  put(j, "dtype", v.dtype);
}

template <class T>
void read_shape(const Json& j, T& v) {
  fields::require_object(j);
  read(j, "direction", v.direction);
  read(j, "phase", v.phase);
  read(j, "q_heads", v.q_heads);
  read(j, "kv_heads", v.kv_heads);
  read(j, "head_dim_k", v.head_dim_k);
  read(j, "head_dim_v", v.head_dim_v);
  read_geometry(j, v.geometry);
  read(j, "dtype", v.dtype);
}

Json selection_json(const Selection& s) {
  Json j = Json::object();
  put(j, "pattern", s.pattern);
  put(j, "overlap", s.overlap);
  return j;
}

}  // namespace

void to_json(Json& j, const Problem& v) {
  j = Json::object();
  put(j, "direction", v.direction);
  put(j, "phase", v.phase);
  put(j, "seq_lens", v.seq_lens);
  put(j, "context_lens", v.context_lens);
  put_shape(j, v);
  put(j, "selection", selection_json(v.selection));
  put_unless_zero(j, "model_dim", v.model.model_dim);
  put_unless_zero(j, "layers", v.model.layers);
  put_unless_zero(j, "vocab_size", v.model.vocab_size);
}

static void from_json(const Json& j, Selection& v) {
  fields::require_object(j);
  v = {};
  read(j, "pattern", v.pattern);
  read(j, "overlap", v.overlap);
}

void from_json(const Json& j, Problem& v) {
  v = {};
  read_shape(j, v);
  read(j, "seq_lens", v.seq_lens);
  // Without contexts nothing is cached, for as many sequences as there are.
  if (!read(j, "context_lens", v.context_lens)) v.context_lens.assign(v.seq_lens.size(), 0);
  read(j, "selection", v.selection);
  read(j, "model_dim", v.model.model_dim);
  read(j, "layers", v.model.layers);
  read(j, "vocab_size", v.model.vocab_size);
}

void to_json(Json& j, const ProblemClass& v) {
  j = Json::object();
  put(j, "direction", v.direction);
  put(j, "phase", v.phase);
  put_shape(j, v);
  put(j, "batch_bin", v.batch_bin);
  put(j, "overlap_bin", v.overlap_bin);
}

void from_json(const Json& j, ProblemClass& v) {
  v = {};
  read_shape(j, v);
  read(j, "batch_bin", v.batch_bin);
  read(j, "overlap_bin", v.overlap_bin);
}

}  // namespace nsa
