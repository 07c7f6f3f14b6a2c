"""The text of the message that XLA gives to a hook. The library prints it in a tenth of the time that
jaxlib takes to read the message, and refuses what it does not know to print as XLA does. Versions of XLA
also print the same message differently, which it cannot see: whether this one prints as it does is found
out, once, on a module that has much of what has changed."""

import functools
import logging
import re

from . import _library as lib
from ._files import print_hlo
from ._module import print_proto

LOGGER = logging.getLogger("remat_hlo")

PROBE = r'''HloModule probe, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias), {2}: (1, {}, must-alias) }, buffer_donor={ (2, {}) }, entry_computation_layout={(f32[4,2]{0,1}, s32[3]{0}, f32[3]{0}, pred[], (f32[2]{0}, f32[]), /*index=5*/token[])->(f32[4,2]{1,0}, f32[], s32[3]{0})}, frontend_attributes={a="1",b={"c": 2}}

FileNames
1 "b.py"
2 "a.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=4 column=5 end_column=6}
2 {file_name_id=2 function_name_id=1 line=7 end_line=8 column=9 end_column=10}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

%fused (x: f32[4,2]) -> f32[4,2] {
  %x = f32[4,2]{0,1} parameter(0)
  %y = f32[4,2]{0,1} cosine(%x), metadata={op_type="cos" op_name="jit(f)/cos" source_file="a.py" source_line=3 stack_frame_id=2}
  ROOT %z = f32[4,2]{1,0} copy(%y), metadata={op_name="jit(f)/copy" stack_frame_id=1}
}

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

%yes (t: f32[2]) -> f32[] {
  %t = f32[2]{0} parameter(0)
  %zero = f32[] constant(0)
  ROOT %r = f32[] reduce(%t, %zero), dimensions={0}, to_apply=%sum
}

%no (t.1: f32[2]) -> f32[] {
  %t.1 = f32[2]{0} parameter(0)
  ROOT %n = f32[] constant(-nan)
}

ENTRY %main (p: f32[4,2], q: s32[3], r.1: f32[3], s: pred[], u: (f32[2], f32[]), k: token[]) -> (f32[4,2], f32[], s32[3]) {
  %p = f32[4,2]{0,1} parameter(0), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}
  %q = s32[3]{0} parameter(1), frontend_attributes={d="e"}
  %r.1 = f32[3]{0} parameter(2)
  %s = pred[] parameter(3), sharding={replicated}
  %u = (f32[2]{0}, f32[]) parameter(4)
  %k = token[] parameter(5)
  %f = f32[4,2]{1,0} fusion(%p), kind=kLoop, calls=%fused, backend_config={"known": {"n": "1"}}
  %g = f32[2]{0} get-tuple-element(%u), index=0
  %v = f32[] conditional(%s, %g, %g), true_computation=%yes, false_computation=%no, metadata={op_name="cond"}
  %half = bf16[2,2]{1,0} constant({ { 1, -0.5 }, { 0.1001, inf } })
  %square = f32[2,2]{1,0} dot(%half, %half), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}
  %pad.1 = f32[3]{0} constant({0.1, 1e-07, 3})
  %less = pred[3]{0} compare(%r.1, %pad.1), direction=LT, order=TOTAL
  %total = f32[3]{0} all-reduce(%r.1), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=%sum
  %part = f32[3]{0} all-reduce(%r.1), channel_id=2, replica_groups=[2,4]<=[8], use_global_device_ids=true, to_apply=%sum
  %axes = f32[3]{0} all-reduce(%r.1), channel_id=3, replica_groups=mesh['d'=2,'m'=4] {'m'}, use_global_device_ids=true, to_apply=%sum
  %cut = s32[2]{0} slice(%q), slice={[0:3:2]}
  %call = f32[3]{0} custom-call(%r.1, %cut), custom_call_target="t\"", operand_layout_constraints={f32[3]{0}, s32[2]{0}}, api_version=API_VERSION_TYPED_FFI, control-predecessors={%less}
  ROOT %end = (f32[4,2]{1,0}, f32[], s32[3]{0}) tuple(%f, %v, %q)
}
'''


@functools.lru_cache(maxsize=1)
def prints_as_jaxlib():
    """Whether the library prints the probe as this version of jaxlib does."""
    try:
        from jaxlib import _hlo
        proto = _hlo.hlo_module_from_text(PROBE).as_serialized_hlo_module_proto()
        same = print_proto(proto) == _print_by_jaxlib(proto)
    except Exception as error:  # whatever is missing, jaxlib is there
        LOGGER.debug("remat_hlo: the texts of modules come from jaxlib: %s", error)
        return False
    if not same:
        LOGGER.debug("remat_hlo: the texts of modules come from jaxlib, which prints differently")
    return same


# Ends of operations that are split, but for those that have opcodes of their own.
_END = re.compile(r" (?!all-gather-|all-reduce-|collective-permute-|copy-|recv-|send-)[a-z-]+-(?:done|update)\(%([^\s,)]+)")
_BEGIN = re.compile(r"^ +(?:ROOT )?%(\S+) = [^\n]*? [a-z-]+-(?:start|update)\(", re.MULTILINE)


def is_read_by_xla(text):
    """Whether XLA's parser reads the text. It crashes, and the process with it, at the end of an operation whose
    operand is not the start, such as one that a loop carries into its next iteration."""
    ends = set(_END.findall(text))
    return not ends or ends <= set(_BEGIN.findall(text))


def _print_by_jaxlib(serialized):
    from jaxlib import _hlo
    return print_hlo(_hlo.HloModule.from_serialized_hlo_module_proto(serialized))


def text_of(serialized):
    """The text of a serialized HloModuleProto with all constants, as XLA prints it."""
    if prints_as_jaxlib():
        try:
            return print_proto(serialized)
        except (lib.Error, UnicodeError) as error:
            LOGGER.debug("remat_hlo: a text comes from jaxlib: %s", error)
    return _print_by_jaxlib(serialized)
