/* The other forms in which values can be kept while nobody reads them: in a layout with less
 * padding, in a narrower type, in the host's memory. They are actions of the search as
 * recomputation is: prices decide between holding a value, computing it again, and copying it into
 * another form and back (price_forms.c). */
#ifndef REMAT_HLO_REMAT_SEARCH_FORMS_H
#define REMAT_HLO_REMAT_SEARCH_FORMS_H

#include "remat/job/compact_shapes.h"
#include "remat/search/graph.h"

/* Adds to a graph the copies into other forms and back. A value has other forms under the
 * conditions of XLA's pass: it is an array, alone in its buffer, large enough, nobody outside of
 * the computation reads it, and it could be recomputed but for --never. requires: the context is
 * that of the graph, and the sizes of `shapes` are those by which it counts. */
void search_graph_add_forms(SearchGraph *graph, const SearchContext *context, CompactShapes *shapes,
                            Arena *out, Arena *scratch);

/* Makes the instructions of a copy of `of` into a form, or back from it to `shape`. */
typedef struct FormCopy {
  InstId start, copy; /* `start` is NO_ID if the copy is not asynchronous */
} FormCopy;

FormCopy form_copy_there(Rewrite *rewrite, const NodeForm *form, InstId of, Arena *scratch);
FormCopy form_copy_back(Rewrite *rewrite, const NodeForm *form, InstId of, InstId original,
                        Arena *scratch);

#endif
