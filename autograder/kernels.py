"""Device functions of the course that numba.cuda does not have: 16-byte loads and stores.

``load4(x, i)`` reads ``x[i], x[i+1], x[i+2], x[i+3]`` of a 1-D float32 array in one instruction and gives them as
a tuple; ``store4(x, i, a, b, c, d)`` writes them. The address of ``x[i]`` must be a multiple of 16 bytes. On the GPU
they are ``ld.global.v4.f32`` and ``st.global.v4.f32``; in the simulator one request each, checked for alignment.

Import this module after numba's simulator flag is settled, as the first cell of each notebook does.
"""

from __future__ import annotations

from typing import Any

from autograder.simulator.install import is_simulated


def _intrinsics() -> tuple[Any, Any]:
    try:
        from numba.cuda import types
        from numba.cuda.extending import intrinsic
    except ImportError:  # numba without numba-cuda
        from numba.core import types
        from numba.extending import intrinsic
    from llvmlite import ir

    vector = ir.VectorType(ir.FloatType(), 4)
    lane = [ir.Constant(ir.IntType(32), n) for n in range(4)]

    def place(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
        made = context.make_array(array_type)(context, builder, array)
        return builder.bitcast(builder.gep(made.data, [index]), vector.as_pointer())

    def accepts(array: Any) -> bool:
        return isinstance(array, types.Array) and array.ndim == 1 and array.dtype == types.float32 and array.layout in "CA"

    @intrinsic
    def load4(typingctx: Any, array: Any, index: Any) -> Any:
        """Read four neighbouring floats at a 16-byte aligned place of a 1-D float32 array."""
        if not accepts(array):
            return None

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            read = builder.load(place(context, builder, signature.args[0], *args), align=16)
            return context.make_tuple(builder, signature.return_type,
                                      [builder.extract_element(read, n) for n in lane])

        return types.UniTuple(types.float32, 4)(array, types.intp), generate

    @intrinsic
    def store4(typingctx: Any, array: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """Write four neighbouring floats at a 16-byte aligned place of a 1-D float32 array."""
        if not accepts(array):
            return None

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            made = ir.Constant(vector, ir.Undefined)
            for n, value in zip(lane, args[2:]):
                made = builder.insert_element(made, value, n)
            builder.store(made, place(context, builder, signature.args[0], *args[:2]), align=16)
            return context.get_dummy_value()

        return types.void(array, types.intp, *[types.float32] * 4), generate

    return load4, store4


def _markers() -> tuple[Any, Any]:
    from autograder.simulator.intrinsics import KernelName

    return KernelName(("load4",)), KernelName(("store4",))


load4, store4 = _markers() if is_simulated() else _intrinsics()
