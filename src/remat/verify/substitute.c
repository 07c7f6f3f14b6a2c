/* Replaces variables in terms. A term is a graph whose nodes are shared: each node is rebuilt once
 * in a substitution, and a node whose arguments stay the same stays itself. */
#include "ir/text_buffer.h"
#include "remat/verify/recurrence.h"

typedef struct Visit {
  ValueNumber node;
  uint32_t next; /* the argument to replace next */
} Visit;

static ValueNumber find_replaced(const Substitution *substitution, ValueNumber node) {
  uint32_t index;
  for (IdProbe probe = id_table_probe(&substitution->table, hash_mix(HASH_SEED, node));
       id_probe_next(&probe, &index);) {
    if (substitution->from.data[index] == node) return substitution->to.data[index];
  }
  return NO_ID;
}

static void set_replaced(Substitution *substitution, ValueNumber from, ValueNumber to) {
  Terms *terms = substitution->terms;
  id_table_add(&substitution->table, terms->scratch, hash_mix(HASH_SEED, from),
               substitution->from.len);
  *vec_push(terms->scratch, &substitution->from) = from;
  *vec_push(terms->scratch, &substitution->to) = to;
  while (terms->origins.len <= to)
    *vec_push(terms->arena, &terms->origins) = NO_ID;
  if (terms->origins.data[to] == NO_ID && to > from) terms->origins.data[to] = from;
}

static ValueNumber rebuild_linear(Terms *terms, ShapeId shape, const Linear *form,
                                  const ValueNumber *symbols) {
  Linear sum = linear_constant(form->constant);
  bool is_exact = true;
  for (uint32_t i = 0; i < form->num_terms; i++) {
    Linear part;
    if (!linear_of_node(terms->numbering, symbols[i], &part)) part = linear_symbol(symbols[i]);
    is_exact &= linear_add(&sum, &part, form->terms[i].factor);
  }
  if (is_exact) return number_linear(terms->numbering, shape, &sum);
  /* Beyond the limits of a form: an operation that nothing is known of. */
  TextBuffer text = {.arena = terms->scratch};
  text_put(&text, "sum");
  for (uint32_t i = 0; i <= form->num_terms; i++) {
    text_put_char(&text, ' ');
    text_put_int(&text, i < form->num_terms ? form->terms[i].factor : form->constant);
  }
  return number_operation(terms->numbering, shape, number_text(terms->numbering, text_str(&text)),
                          symbols, form->num_terms);
}

static ValueNumber iterate_or_opaque(Terms *terms, const Node *node, const ValueNumber *values) {
  ValueNumber result = iterate_again(terms, values);
  if (result != NO_ID) return result;
  return number_of_kind(terms->numbering, NODE_ITERATED, node->shape, 0, values, node->num_args);
}

/* The node with other values as arguments; `values` has those of node_num_values(). */
static ValueNumber rebuild(Terms *terms, ValueNumber value, ValueNumber *values) {
  Numbering *numbering = terms->numbering;
  Node node = *numbered_node(numbering, value);
  switch (node.kind) {
    case NODE_TUPLE: return number_tuple(numbering, node.shape, values, node.num_args);
    case NODE_ELEMENT: return number_element(numbering, node.shape, values[0], node.detail);
    case NODE_BITCAST: return fold_reshape(terms, true, node.shape, node.detail, 0, values[0]);
    case NODE_LINEAR: {
      Linear form;
      linear_of_node(numbering, value, &form);
      return rebuild_linear(terms, node.shape, &form, values);
    }
    case NODE_TAGGED: {
      ValueNumber *args = arena_array(terms->scratch, ValueNumber, node.num_args);
      memcpy(args, node_args(numbering, value), node.num_args * sizeof *args);
      args[0] = values[0];
      return number_tagged(numbering, node.shape, node.detail, args, node.num_args);
    }
    case NODE_ITERATED: return iterate_or_opaque(terms, &node, values);
    default: return fold_operation(terms, node.shape, node.detail, values, node.num_args);
  }
}

static ValueNumber finish(Substitution *substitution, ValueNumber value) {
  Terms *terms = substitution->terms;
  Numbering *numbering = terms->numbering;
  Node node = *numbered_node(numbering, value);
  uint32_t count = node_num_values(&node);
  ValueNumber *values = arena_array(terms->scratch, ValueNumber, count);
  bool is_same = true;
  for (uint32_t i = 0; i < count; i++) {
    ValueNumber arg = node_args(numbering, value)[node_value_arg(&node, i)];
    values[i] = find_replaced(substitution, arg);
    is_same &= values[i] == arg;
  }
  return is_same ? value : rebuild(terms, value, values);
}

ValueNumber substitute(Substitution *substitution, ValueNumber root) {
  Terms *terms = substitution->terms;
  const Numbering *numbering = terms->numbering;
  VEC(Visit) stack = {0};
  if (find_replaced(substitution, root) == NO_ID) {
    *vec_push(terms->scratch, &stack) = (Visit){root, 0};
  }
  while (stack.len) {
    Visit *visit = &stack.data[stack.len - 1];
    ValueNumber value = visit->node;
    if (visit->next == 0) {
      ValueNumber replaced = find_replaced(substitution, value);
      if (replaced == NO_ID) {
        replaced = substitution->replace(substitution->context, value);
        if (replaced != NO_ID) set_replaced(substitution, value, replaced);
      }
      if (replaced != NO_ID) {
        stack.len--;
        continue;
      }
      if (terms->steps_left) terms->steps_left--;
    }
    const Node *node = numbered_node(numbering, value);
    if (visit->next == node_num_values(node)) {
      stack.len--;
      set_replaced(substitution, value, finish(substitution, value));
      continue;
    }
    ValueNumber arg = node_args(numbering, value)[node_value_arg(node, visit->next++)];
    if (find_replaced(substitution, arg) == NO_ID) {
      *vec_push(terms->scratch, &stack) = (Visit){arg, 0};
    }
  }
  return find_replaced(substitution, root);
}
