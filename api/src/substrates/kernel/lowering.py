"""How Numba compiles a kernel: the types of its arguments, and the native entry around its body.

The only module of the package that imports Numba. Protocol of a call, as ``substrates_kernel.h`` has it:

1. The entry ``int32 (context*, state*, uint64 bits)`` turns the bits into the lane's value and calls the
   body, which LLVM must inline (*alwaysinline*; Numba's own C wrapper says *noinline*, which costs 1 ns).
2. A state's field is a load or a store at ``index * 8``; an emission two stores and an add at the context's
   tail. Both pointers are *noalias*: states, context and slots never overlap, so that the tail stays in a
   register.
3. `grow` failing ends the body at once with its fault code and a null exception pointer; an exception ends
   it with Numba's code 1 and the pointer set. The entry turns the pointer into a code that `machine` decodes.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir
from numba.core import cgutils, compiler, errors, types
from numba.core import ir as numba_ir
from numba.core.compiler_lock import global_compiler_lock
from numba.core.imputils import lower_builtin, lower_cast, lower_getattr_generic, lower_setattr_generic
from numba.core.registry import cpu_target
from numba.core.rewrites import Rewrite, register_rewrite
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    bound_function,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import models, register_model

from .lane import Lane, fits_int64
from .machine import FAULT_EXCEPTION, FAULT_MEMORY, FAULT_RAISED, FAULT_RANGE, Machine
from .state import CELL

if TYPE_CHECKING:
    from .receptor import Kernel
    from .state import Field, Layout

__all__ = ["build"]

_I32: Final = ir.IntType(32)
_I64: Final = ir.IntType(64)
_DOUBLE: Final = ir.DoubleType()
_POINTER: Final = ir.IntType(8).as_pointer()

_SLOT: Final = ir.LiteralStructType([_I64, _I64])
_GROW: Final = ir.FunctionType(_I32, [_POINTER])
_CONTEXT: Final = ir.LiteralStructType([_SLOT.as_pointer(), _SLOT.as_pointer(), _GROW.as_pointer()])
_TAIL, _LIMIT, _GROW_FIELD = range(3)

_KEEPS_REGISTERS: Final = "preserve_mostcc"

_SCALARS: Final = {Lane.INT64: types.int64, Lane.FLOAT64: types.float64}
_NUMBERS: Final = (types.Integer, types.Float, types.Boolean)


class ContextType(types.Type):
    """A kernel's first argument: the address of the engine's context."""

    def __init__(self) -> None:
        super().__init__(name="Context")


class PipeType(types.Type):
    """A pipe of a lane: an opaque handle, 0 for None."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        super().__init__(name=f"Pipe[{lane.value}]")


class StateType(types.Type):
    """The address of a state of a layout."""

    def __init__(self, name: str, layout: Layout) -> None:
        self.state_name = name
        self.fields = {field.name: field for field in layout.fields}
        super().__init__(name=name)

    @property
    def key(self) -> Any:
        """What makes it equal to another."""
        shape = tuple((field.name, field.lane, field.is_pipe) for field in self.fields.values())
        return self.state_name, shape

    def field(self, name: str) -> Field:
        """Return the field `name`."""
        field = self.fields.get(name)
        if field is None:
            known = ", ".join(self.fields) or "none"
            raise errors.TypingError(f"state {self.state_name} has no field {name!r}; its fields are {known}")
        return field


register_model(ContextType)(models.OpaqueModel)
register_model(StateType)(models.OpaqueModel)


@register_model(PipeType)
class _PipeModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: PipeType) -> None:
        super().__init__(manager, kind, _I64)


def _field_type(field: Field) -> Any:
    return PipeType(field.lane) if field.is_pipe else _SCALARS[field.lane]


# --- conversions: what state fields and lanes do to the numbers they are given (`Lane.cast` in Python) ---


def _to_lane(context: Any, builder: Any, lane: Lane, kind: Any, value: Any) -> Any:
    if lane is Lane.INT64 and isinstance(kind, types.Float):
        double = context.cast(builder, value, kind, types.float64)
        # Truncates, saturates at the ends, NaN becomes 0; a plain fptosi is undefined out of range.
        form = ir.FunctionType(_I64, [_DOUBLE])
        saturating = builder.module.declare_intrinsic("llvm.fptosi.sat", [_I64, _DOUBLE], form)
        return builder.call(saturating, [double])
    return context.cast(builder, value, kind, _SCALARS[lane])


def _to_handle(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.NoneType):
        return _I64(0)
    if isinstance(kind, types.Optional):
        optional = context.make_helper(builder, kind, value=value)
        return builder.select(cgutils.as_bool_bit(builder, optional.valid), optional.data, _I64(0))
    return value


def _pipe_of(kind: Any) -> Any:
    """Return the pipe type behind `kind`, None of the constant None, False of anything else."""
    if isinstance(kind, types.NoneType):
        return None
    inner = kind.type if isinstance(kind, types.Optional) else kind
    return inner if isinstance(inner, PipeType) else False


# --- state fields ---


@infer_getattr
class _StateFields(AttributeTemplate):
    key = StateType

    def generic_resolve(self, state: StateType, name: str) -> Any:
        return _field_type(state.field(name))


@register_rewrite("after-inference")
class _Checks(Rewrite):
    """Checks a function that has a state, and lets `_store` convert what it stores.

    Numba would convert it before, and leave floats that are out of range undefined.
    """

    def match(self, _function: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
        if not any(isinstance(kind, StateType) for kind in typemap.values()):
            return False
        for assignment in block.find_insts(numba_ir.Assign):
            kind = typemap[assignment.target.name]
            if isinstance(kind, types.IntegerLiteral) and not fits_int64(kind.literal_value):
                # Numba would go on with uint64, and from there with float64.
                raise errors.TypingError(f"{kind.literal_value} does not fit int64", loc=assignment.loc)
        for store in block.find_insts(numba_ir.SetAttr):
            state, value = typemap[store.target.name], types.unliteral(typemap[store.value.name])
            if isinstance(state, StateType):
                _check_store(state, state.field(store.attr), value, store.loc)
                calltypes.pop(store)  # it takes each key once
                calltypes[store] = signature(types.void, state, value)
        return False


def _check_store(state: StateType, field: Field, value: Any, place: Any) -> None:
    if field.is_pipe:
        pipe = _pipe_of(value)
        fits = pipe is None or (pipe is not False and pipe.lane is field.lane)
    else:
        fits = isinstance(value, _NUMBERS)
    if not fits:
        raise errors.TypingError(
            f"field {field.name!r} of state {state.state_name} holds {_field_type(field)},"
            f" it cannot be given {value}",
            loc=place,
        )


def _cell(builder: Any, state: Any, field: Field) -> Any:
    kind = _DOUBLE if field.lane is Lane.FLOAT64 and not field.is_pipe else _I64
    place = builder.gep(state, [_I64(field.index * CELL)], inbounds=True)
    return builder.bitcast(place, kind.as_pointer())


@lower_getattr_generic(StateType)
def _load(_context: Any, builder: Any, kind: StateType, state: Any, name: str) -> Any:
    return builder.load(_cell(builder, state, kind.field(name)))


@lower_setattr_generic(StateType)
def _store(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
    field = sig.args[0].field(name)
    if field.is_pipe:
        cell = _to_handle(context, builder, sig.args[1], args[1])
    else:
        cell = _to_lane(context, builder, field.lane, sig.args[1], args[1])
    builder.store(cell, _cell(builder, args[0], field))


# --- pipes: true unless None ---


@infer_global(operator.truth)
@infer_global(operator.not_)
class _PipeTruth(AbstractTemplate):
    def generic(self, args: Any, _keywords: Any) -> Any:
        if len(args) == 1 and _pipe_of(args[0]):
            return signature(types.boolean, *args)
        return None


@infer_global(operator.eq)
@infer_global(operator.ne)
class _PipeEquality(AbstractTemplate):
    def generic(self, args: Any, _keywords: Any) -> Any:
        pipes = [_pipe_of(kind) for kind in args]
        return signature(types.boolean, *args) if any(pipes) and False not in pipes else None


def _is_pipe(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.icmp_unsigned("!=", _to_handle(context, builder, sig.args[0], args[0]), _I64(0))


def _is_none(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.icmp_unsigned("==", _to_handle(context, builder, sig.args[0], args[0]), _I64(0))


def _same(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.icmp_unsigned("==", *_handles(context, builder, sig, args))


def _different(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.icmp_unsigned("!=", *_handles(context, builder, sig, args))


def _handles(context: Any, builder: Any, sig: Any, args: Any) -> list[Any]:
    return [_to_handle(context, builder, *pair) for pair in zip(sig.args, args, strict=True)]


# By instances: Numba has implementations for other classes of types, and refuses to choose.
_PIPES: Final = [PipeType(Lane.INT64), PipeType(Lane.FLOAT64)]
_PIPES_OR_NONE: Final = [*_PIPES, *map(types.Optional, _PIPES)]
for _left in _PIPES_OR_NONE:
    lower_builtin(bool, _left)(_is_pipe)
    lower_builtin(operator.truth, _left)(_is_pipe)
    lower_builtin(operator.not_, _left)(_is_none)
    for _right in (*_PIPES_OR_NONE, types.none):
        for _pair in {(_left, _right), (_right, _left)}:
            lower_builtin(operator.is_, *_pair)(_same)
            lower_builtin(operator.eq, *_pair)(_same)
            lower_builtin(operator.is_not, *_pair)(_different)
            lower_builtin(operator.ne, *_pair)(_different)


@lower_cast(PipeType, types.Optional)
def _to_optional(context: Any, builder: Any, _source: Any, target: Any, value: Any) -> Any:
    """Where a variable is a pipe or the constant None: a null pipe is None too."""
    optional = context.make_helper(builder, target)
    optional.valid = builder.icmp_unsigned("!=", value, _I64(0))
    optional.data = value
    return optional._getvalue()


# --- emission ---


@infer_getattr
class _ContextMethods(AttributeTemplate):
    key = ContextType

    @bound_function("substrates.emit")
    def resolve_emit(self, _context: ContextType, args: Any, kws: Any) -> Any:
        if kws or len(args) != 2:
            raise errors.TypingError("ctx.emit takes a pipe and a value")
        pipe, value = _pipe_of(args[0]), types.unliteral(args[1])
        if pipe is False:
            raise errors.TypingError(f"ctx.emit: a pipe field of the state is required, not {args[0]}")
        if not isinstance(value, _NUMBERS):
            raise errors.TypingError(f"ctx.emit: a number is required, not {value}")
        return signature(types.none, args[0], value)

    def generic_resolve(self, _context: ContextType, name: str) -> Any:
        raise errors.TypingError(f"ctx has no {name!r}; it has emit")


@lower_builtin("substrates.emit", ContextType, types.Any, types.Any)
def _emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    pipe = _pipe_of(sig.args[1])
    if pipe is not None:
        bits = _to_lane(context, builder, pipe.lane, sig.args[2], args[2])
        if pipe.lane is Lane.FLOAT64:
            bits = builder.bitcast(bits, _I64)
        handle = _to_handle(context, builder, sig.args[1], args[1])
        _put(builder, args[0], handle, bits)
    return context.get_dummy_value()


def _put(builder: Any, address: Any, handle: Any, bits: Any) -> None:
    window = builder.bitcast(address, _CONTEXT.as_pointer())
    tail_field, limit_field = (
        builder.gep(window, [_I32(0), _I32(place)], inbounds=True) for place in (_TAIL, _LIMIT)
    )
    full = builder.icmp_unsigned("==", builder.load(tail_field), builder.load(limit_field))
    with cgutils.if_unlikely(builder, full):
        with builder.goto_entry_block():
            place = builder.alloca(_I32)  # not `alloca_once`, which would fill it on the fast path
        builder.call(_grow(builder.module), [address, place], cconv=_KEEPS_REGISTERS)
        code = builder.load(place)
        with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, code)):
            exception = builder.function.args[1]
            builder.store(cgutils.get_null_value(exception.type.pointee), exception)
            # Numba gives codes below 1 a meaning of its own.
            builder.ret(builder.select(builder.icmp_signed(">", code, _I32(0)), code, _I32(FAULT_MEMORY)))
    tail = builder.load(tail_field)
    for member, word in enumerate((handle, bits)):
        target = builder.gep(tail, [_I32(0), _I32(member)], inbounds=True)
        builder.store_atomic(word, target, "monotonic", CELL)  # atomic, or LLVM makes one store of the two
    builder.store(builder.gep(tail, [_I32(1)], inbounds=True), tail_field)


def _grow(module: Any) -> Any:
    """Return the function that calls `grow` and stores its code.

    It keeps the kernel's registers, so that the fast path saves none. Its convention has no say on returned
    values before LLVM 17, so it returns none.
    """
    name = "substrates.grow"
    if name in module.globals:
        return module.get_global(name)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [_POINTER, _I32.as_pointer()]), name)
    function.calling_convention = _KEEPS_REGISTERS
    function.linkage = "linkonce_odr"
    for attribute in ("cold", "noinline"):
        function.attributes.add(attribute)
    builder = ir.IRBuilder(function.append_basic_block())
    context, place = function.args
    window = builder.bitcast(context, _CONTEXT.as_pointer())
    grow = builder.load(builder.gep(window, [_I32(0), _I32(_GROW_FIELD)], inbounds=True))
    builder.store(builder.call(grow, [context]), place)
    builder.ret_void()
    return function


# --- the entry ---


def build(kernel: Kernel[Any]) -> tuple[Machine, bytes, str]:
    """Compile `kernel`; return it loaded, its object code, and the name of its entry there.

    Raises:
        NumbaError: Numba cannot compile the function.
    """
    assert kernel.function is not None
    target = cpu_target
    state = StateType(kernel.state_type.__qualname__, kernel.state_type.layout)
    flags = compiler.Flags()
    flags.nrt = True
    flags.no_compile = True  # the entry is still to come
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    # As Python has it: dividing by zero raises, of integers and of floats. "numpy" would differ from Python.
    flags.error_model = "python"
    arguments = (ContextType(), state, _SCALARS[kernel.lane])
    with global_compiler_lock:
        result = compiler.compile_extra(
            target.typing_context, target.target_context, kernel.function, arguments, None, flags, {}
        )
        entry = f"substrates.{result.fndesc.mangled_name}"
        result.library.add_ir_module(_entry(result, kernel.lane, entry))
        address = result.library.get_pointer_to_function(entry)
        codegen = result.library.codegen
        codegen.set_env(result.target_context.get_env_name(result.fndesc), result.environment)
        _, _, (code, _) = result.library.serialize_using_object_code()
    return Machine(address, (result.library, result.environment)), code, entry


def _entry(result: Any, lane: Lane, name: str) -> Any:
    context, descriptor = result.target_context, result.fndesc
    module = result.library.create_ir_module(name)
    body = context.declare_function(module, descriptor)
    entry = ir.Function(module, ir.FunctionType(_I32, [_POINTER, _POINTER, _I64]), name)
    for pointer in entry.args[:2]:
        pointer.add_attribute("noalias")
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    bits = entry.args[2]
    value = builder.bitcast(bits, _DOUBLE) if lane is Lane.FLOAT64 else bits
    status, returned = context.call_conv.call_function(
        builder,
        body,
        descriptor.restype,
        descriptor.argtypes,
        [entry.args[0], entry.args[1], value],
        attrs=("alwaysinline",),
    )
    with cgutils.if_unlikely(builder, status.is_error):
        with cgutils.if_unlikely(builder, builder.not_(status.is_user_exc)):
            builder.ret(_I32(FAULT_EXCEPTION))
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, status.excinfoptr)):
            builder.ret(status.code)
        builder.ret(_exception_code(context, builder, status.excinfoptr, entry))
    # What the body returns is dropped. Where it may be None, Numba hands over the value within, or zeros.
    kind = descriptor.restype
    context.nrt.decref(builder, kind.type if isinstance(kind, types.Optional) else kind, returned)
    builder.ret(_I32(0))
    return module


def _exception_code(context: Any, builder: Any, pointer: Any, entry: Any) -> Any:
    """Return the distance from `entry` to the pickled exception, a constant of the same object code."""
    exception = builder.load(pointer)
    pickled, _size, run_time, _unwrap, allocated = (builder.extract_value(exception, i) for i in range(5))
    with cgutils.if_unlikely(builder, builder.icmp_signed(">", allocated, _I32(0))):
        # Raised with arguments of run time, which nobody will ask for.
        context.nrt.free(builder, run_time)
        context.nrt.free(builder, builder.bitcast(pointer, _POINTER))
    code = builder.sub(builder.ptrtoint(pickled, _I64), builder.ptrtoint(entry, _I64))
    code = builder.add(code, _I64(FAULT_RAISED))
    near = builder.and_(
        builder.icmp_signed(">=", code, _I64(FAULT_RAISED - FAULT_RANGE)),
        builder.icmp_signed("<", code, _I64(FAULT_RAISED + FAULT_RANGE)),
    )
    return builder.select(near, builder.trunc(code, _I32), _I32(FAULT_EXCEPTION))
