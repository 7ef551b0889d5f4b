"""Barriers, warp operations, launch configurations, limits, exceptions and reproducibility."""

import numba
import numpy as np
import pytest
from numba import cuda

from autograder.simulator import KernelError, LaunchError, StepLimit, install, launch

FULL = 0xFFFFFFFF


def run(kernel, *args, block=32, grid=1, **options):
    return launch(kernel, grid, block, args, **options)


# barriers

@cuda.jit
def barrier_in_branch(out):
    t = cuda.threadIdx.x
    if t < 20:
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    out[t] = t


def test_barriers_on_two_lines_are_divergent():
    finding = run(barrier_in_branch, np.zeros(32)).findings[0]
    assert finding.tool == "synccheck" and len(finding.places) == 2
    assert "20 threads" in finding.message and "12 threads" in finding.message


@cuda.jit
def around_the_barrier(out):
    t = cuda.threadIdx.x
    if t % 2 == 0:
        cuda.syncthreads()
    out[t] = t


def test_lanes_that_go_around_a_barrier_are_divergent():
    finding = run(around_the_barrier, np.zeros(32)).findings[0]
    assert finding.tool == "synccheck" and "16 threads" in finding.message and "go around it" in finding.message


@cuda.jit
def early_return(out):
    t = cuda.threadIdx.x
    if t >= 20:
        return
    cuda.syncthreads()
    out[t] = t


def test_threads_that_have_returned_count_as_arrived():
    out = np.zeros(32)
    assert run(early_return, out).findings == () and out[19] == 19


@cuda.jit
def block_votes(out):
    t = cuda.threadIdx.x
    out[0, t] = cuda.syncthreads_count(t % 2)
    out[1, t] = cuda.syncthreads_and(t < 30)
    out[2, t] = cuda.syncthreads_or(t == 5)


def test_block_votes():
    out = np.zeros((3, 32))
    assert run(block_votes, out).findings == ()
    assert (out == [[16], [0], [1]]).all()


# warp operations

@cuda.jit
def warp_sum(X, out):
    t = cuda.threadIdx.x
    v = X[t]
    k = 16
    while k > 0:
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, k)
        k //= 2
    if t % 32 == 0:
        out[t // 32] = v


@pytest.mark.parametrize("order", ["forward", "reverse", 5])
def test_shuffle_sum(order):
    X, out = np.arange(96, dtype=np.float32), np.zeros(3, np.float32)
    assert run(warp_sum, X, out, block=96, order=order).findings == ()
    assert out.tolist() == [X[:32].sum(), X[32:64].sum(), X[64:].sum()]


@cuda.jit
def shuffles(out):
    t = cuda.threadIdx.x
    out[0, t] = cuda.shfl_sync(0xFFFFFFFF, t, 7)
    out[1, t] = cuda.shfl_up_sync(0xFFFFFFFF, t, 3)
    out[2, t] = cuda.shfl_down_sync(0xFFFFFFFF, t, 3)
    out[3, t] = cuda.shfl_xor_sync(0xFFFFFFFF, t, 5)


def test_every_shuffle():
    out = np.zeros((4, 32), np.int64)
    assert run(shuffles, out).findings == ()
    t = np.arange(32)
    assert (out[0] == 7).all() and (out[3] == (t ^ 5)).all()
    assert (out[1] == np.where(t < 3, t, t - 3)).all()
    assert (out[2] == np.where(t > 28, t, t + 3)).all()


@cuda.jit
def votes(out):
    t = cuda.threadIdx.x
    out[0, t] = cuda.all_sync(0xFFFFFFFF, t < 32)
    out[1, t] = cuda.any_sync(0xFFFFFFFF, t == 3)
    out[2, t] = cuda.eq_sync(0xFFFFFFFF, t < 3)
    out[3, t] = cuda.ballot_sync(0xFFFFFFFF, t % 2)
    out[4, t] = cuda.match_any_sync(0xFFFFFFFF, t // 8)
    mask, same = cuda.match_all_sync(0xFFFFFFFF, 4)
    out[5, t] = mask + same
    out[6, t] = cuda.activemask()
    out[7, t] = cuda.lanemask_lt()


def test_votes_and_matches():
    out = np.zeros((8, 32), np.int64)
    assert run(votes, out).findings == ()
    assert (out[0] == 1).all() and (out[1] == 1).all() and (out[2] == 0).all()
    signed = lambda mask: mask - (mask >> 31 << 32)  # noqa: E731 – votes and matches give an int32 on a GPU
    assert (out[3] == signed(0xAAAAAAAA)).all()
    assert (out[4] == [signed(0xFF << (8 * (t // 8))) for t in range(32)]).all()
    assert (out[5] == signed(FULL) + 1).all() and (out[6] == FULL).all()
    assert (out[7] == [(1 << t) - 1 for t in range(32)]).all()


@cuda.jit
def partial(out):
    t = cuda.threadIdx.x
    if t < 16:
        out[t] = cuda.shfl_down_sync(0x0000FFFF, t, 1)


def test_a_mask_of_the_lanes_that_take_part_is_right_until_a_lane_outside_is_read():
    out = np.zeros(32, np.int64)
    finding, = run(partial, out).findings
    assert "reads lane 16" in finding.message and out[3] == 4


@cuda.jit
def full_mask_in_branch(out):
    t = cuda.threadIdx.x
    v = numba.float32(t)
    if t < 16:
        v = cuda.shfl_down_sync(0xFFFFFFFF, v, 1)
    out[t] = v


def test_a_full_mask_with_lanes_elsewhere_is_a_finding():
    trace = run(full_mask_in_branch, np.zeros(32, np.float32))
    assert {f.tool for f in trace.findings} == {"synccheck"}
    assert "reads lane 16" in trace.findings[0].message


@cuda.jit
def shuffle_beside_a_barrier(out):
    t = cuda.threadIdx.x
    v = numba.float32(t)
    if t < 16:
        v = cuda.shfl_xor_sync(0xFFFFFFFF, v, 1)
    cuda.syncthreads()
    out[t] = v


def test_a_mask_that_names_lanes_waiting_elsewhere_is_a_finding():
    finding, = run(shuffle_beside_a_barrier, np.zeros(32, np.float32)).findings
    assert "names lane 16" in finding.message and "waits somewhere else" in finding.message


@cuda.jit
def outside_mask(out):
    out[cuda.threadIdx.x] = cuda.shfl_sync(0x0000FFFF, cuda.threadIdx.x, 0)


def test_a_caller_outside_its_own_mask():
    trace = run(outside_mask, np.zeros(32, np.int64))
    assert any("not in its own mask" in f.message for f in trace.findings)


@cuda.jit(device=True)
def helper_sum(v):
    for k in (16, 8, 4, 2, 1):
        v += cuda.shfl_xor_sync(0xFFFFFFFF, v, k)
    return v


@cuda.jit
def through_helpers(X, out):
    out[cuda.threadIdx.x] = helper_sum(X[cuda.threadIdx.x])


def test_warp_operations_inside_device_functions():
    X, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    assert run(through_helpers, X, out).findings == ()
    assert (out == X.sum()).all()


# shapes of launches

@cuda.jit
def coordinates(out):
    x, y, z = cuda.grid(3)
    out[x, y, z] = (cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
                    ) * 1000 + cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)


def test_three_dimensions():
    out = np.full((4, 6, 4), -1)
    assert launch(coordinates, (2, 2, 2), (2, 3, 2), (out,)).findings == ()
    assert len(np.unique(out)) == 96 and out.max() == 7011


@pytest.mark.parametrize(("grid", "block", "words"), [
    (0, 32, "empty"), (1, 0, "empty"), (1, 1025, "at most 1024"), (1, (32, 33), "1056 threads"),
    (1, (1, 1, 65), "at most 64"), ((1, 70000), 1, "at most 65535"), (1.5, 1, "whole number"), ("8", 1, "whole"),
])
def test_bad_configurations_are_refused(grid, block, words):
    with pytest.raises(LaunchError, match=words):
        launch(early_return, grid, block, (np.zeros(4),))


def test_wrong_number_of_arguments():
    with pytest.raises(LaunchError, match="takes 2 arguments"):
        launch(warp_sum, 1, 32, (np.zeros(4),))


def test_configurations_are_independent():
    install()
    a, b = warp_sum[1, 32], warp_sum[2, 64]
    assert (a.grid, a.block, b.grid, b.block) == (1, 32, 2, 64)


def test_forall_and_device_arrays():
    install()

    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    x = cuda.to_device(np.arange(300, dtype=np.float32))
    double.forall(300)(x)
    stream = cuda.stream()
    double[3, 128, stream](x)
    assert np.array_equal(x.copy_to_host(), np.arange(300) * 4)


# exceptions and limits

@cuda.jit
def broken(X):
    t = cuda.threadIdx.x
    if t == 3:
        X[t] = undefined_name  # noqa: F821
    cuda.syncthreads()


def test_an_exception_keeps_its_type_line_and_thread():
    with pytest.raises(NameError) as caught:
        run(broken, np.zeros(32))
    place = caught.value.place
    assert place.thread == (3, 0, 0) and place.text.startswith("X[t] = undefined_name")


def test_a_launch_after_an_error_is_as_before():
    with pytest.raises(NameError):
        run(broken, np.zeros(32))
    out = np.zeros((3, 32))
    assert run(block_votes, out).findings == ()


@pytest.mark.parametrize("loop", ["while", "for", "barrier"])
def test_endless_loops_end(loop):
    @cuda.jit
    def spin(x):
        while True:
            x[0] = 1

    @cuda.jit
    def count(x):
        for i in range(10**12):
            x[0] = i

    @cuda.jit
    def wait(x):
        while x[0] == 0:
            cuda.syncthreads()

    kernel = {"while": spin, "for": count, "barrier": wait}[loop]
    with pytest.raises(StepLimit, match="never ends") as caught:
        run(kernel, np.zeros(1), step_limit=20_000)
    assert caught.value.place.line > 0


def test_unknown_names_of_cuda_are_refused():
    @cuda.jit
    def kernel(x):
        cuda.no_such_thing(x)

    with pytest.raises(KernelError, match="no_such_thing"):
        run(kernel, np.zeros(1))


def test_steps_are_reproducible():
    X, out = np.arange(96, dtype=np.float32), np.zeros(3, np.float32)
    assert len({run(warp_sum, X, out, block=96).steps for _ in range(3)}) == 1


def test_aliases_of_cuda_and_names_from_it():
    from numba import cuda as gpu

    install()
    from numba.cuda import grid, syncthreads

    @gpu.jit
    def kernel(out):
        i = grid(1)
        syncthreads()
        out[i] = gpu.threadIdx.x + numba.cuda.blockDim.x

    out = np.zeros(8)
    launch(kernel, 1, 8, (out,))
    assert out.tolist() == list(range(8, 16))
