# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 3: merge reduce
#
# In lab 2 the whole block agreed on one maximum before anything was added. Now each thread folds its share
# alone and ends with a state of its own. One small function, `merge`, makes one state of two. Four kernels use
# it: over shared memory, over shuffles, with 16-byte loads, and over many rows.

# %% [markdown]
# ## You will
#
# * write `merge` with its three laws, two empty states included
# * reduce pairs in a shared tree, and between the lanes of a warp
# * predict, then count, the requests of 16-byte loads
# * let four blocks do any number of rows
# * build a row that exposes a kernel which adds the lanes' d

# %% [markdown]
# ## Before you start
#
# Read lesson 03 (merge reduce) and finish lab 2. **Time.** About 4 hours.
#
# On your machine: `make lab`; the README has the same without make. On Colab: open this notebook and
# run the first cell, which installs what is missing. *Runtime → Change runtime type → T4* gives a real
# GPU. Without one, the simulator runs the same code.

# %% [markdown]
# ## Points
#
# | | values | rescale | traffic | safety | answer | total |
# |---|---|---|---|---|---|---|
# | 1 `merge` | 2 | 2 | | | | 4 |
# | 2 `online_softmax_tree` | 1 | 2 | 1 | 1 | | 5 |
# | 3 `online_softmax_warp` | 1 | 2 | 1 | 1 | | 5 |
# | 4 `vec4_load_requests` | | | | | 1 | 1 |
# | 5 `online_softmax_vec4` | 1 | 1 | 2 | 1 | | 5 |
# | 6 `online_softmax_grid_stride` | 1 | 1 | 1 | 1 | | 4 |
# | 7 `breaking_value` | | | | | 1 | 1 |
# | 8 in your words | | | | | 2, read by a person | 2 |

# %% [markdown]
# Each graded cell is one `check`. Its last line is what you earned; a check with several groups of
# cases gives part of its points for part of the groups. Run it as often as you like. Grading runs the
# same kinds of rows with other numbers.

# %% tags=["setup"]
# setup

# %%
THREADS = 256  # threads of a block, except in exercise 3

# %% [markdown]
# ## The rule
#
# A state (m, d) stands for a set of numbers: its maximum, and its denominator against that maximum. The
# state of two sets together:
#
# $$m = \max(m_1, m_2), \qquad d = d_1\,e^{m_1 - m} + d_2\,e^{m_2 - m}$$

# %% [markdown]
# **Predict.** Thread 0 folded 3 1, thread 1 folded 4 2. Both have d = 1 + e^(−2) = 1.1353. What is the
# merged state? And what would you get if you only added the two d? Write it down, then run the cell.

# %%
m1, d1, m2, d2 = 3.0, 1 + math.exp(-2), 4.0, 1 + math.exp(-2)
m = max(m1, m2)
print(f"merged:   m = {m:g}, d = {d1 * math.exp(m1 - m) + d2 * math.exp(m2 - m):.4f}")
print(f"d added:  d = {d1 + d2:.4f}")
print(f"truth:    d = {sum(math.exp(x - 4) for x in (3, 1, 4, 2)):.4f}")

# %% [markdown]
# ## Exercise 1: merge
#
# **Goal.** A **device function** `merge(m1, d1, m2, d2)` that returns `(m, d)`, all float32. Kernels call it
# like any function. It touches no memory. About 5 lines.
#
# **Laws.** It is commutative, associative up to rounding, and (−inf, 0) is its identity on either side.

# %% [markdown]
# **Picture.** Four threads hold two numbers each of 3 1 4 2 8 5 7 6. On each line stands the factor for that
# d. One of the two is always 1.

# %%
from autograder.figures import exchange_picture, sector_map, state_tree

shares = [(3, 1.1353), (4, 1.1353), (8, 1.0498), (7, 1.3679)]
state_tree(shares, names=["thread 0", "thread 1", "thread 2", "thread 3"])

# %% [markdown]
# **Specification.** The rule in float64. It has a hole on purpose: two empty states, as idle threads
# have. There your `merge` must return (−inf, 0).


# %%
def merge_spec(m1, d1, m2, d2):
    """Two states, numbers or arrays of equal shape -> (m, d) in float64; not both may be empty."""
    m = np.maximum(m1, m2)
    return m, d1 * np.exp(m1 - m) + d2 * np.exp(m2 - m)


# %% [markdown]
# **Your function.** `@cuda.jit(device=True)` stands above it. Say on the line of the guard why it is there.


# %% nbgrader={"grade_id": "merge", "solution": true}
@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    """The state of two sets together, float32: (m, d). (-inf, 0) is the empty set."""
    ### BEGIN SOLUTION
    m = max(m1, m2)
    base = m
    if base == numba.float32(-math.inf):  # two empty sets: -inf - -inf is NaN, -inf - 0 is not
        base = numba.float32(0.0)
    return m, d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)
    ### END SOLUTION


# %% [markdown]
# **Look.** Only a kernel can be launched, so this one calls your function: thread i merges row i of A with row
# i of B. The five pairs: near, far apart, empty left, empty right, both empty.

# %%
@cuda.jit
def merge_rows(A, B, out):
    """A, B, out [k, 2] float32: a state (m, d) in each row."""
    i = cuda.grid(1)
    if i < A.shape[0]:
        out[i, 0], out[i, 1] = merge(A[i, 0], A[i, 1], B[i, 0], B[i, 1])


empty = (-math.inf, 0)
A = np.array([(3, 1.1353), (-200, 2), empty, (4, 1.553), empty], np.float32)
B = np.array([(4, 1.1353), (50, 3), (8, 1.553), empty, empty], np.float32)
out = np.full_like(A, np.nan)
look = xray(merge_rows[1, 32], A, B, out)

# %%
print(look.message or "merged:")
for a, b, found in zip(A, B, out):
    print("merge(%g, %.4f, %g, %.4f)" % (*a, *b), "= %g, %.4f" % tuple(found))

# %% [markdown]
# **Checks.** `values`: states near each other, merged both ways round and in threes, associated both ways.

# %% nbgrader={"grade_id": "merge_values", "grade": true, "points": 2}
check("lab3.merge.values", merge)

# %% [markdown]
# `rescale`: maxima far apart, one side empty, both sides empty.

# %% nbgrader={"grade_id": "merge_rescale", "grade": true, "points": 2}
check("lab3.merge.rescale", merge)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Lab 2's update with a second state in place of the new element. The element x was the state (x, 1), and its
# term `exp(x − m_new)` was its 1 times its factor. Now both sides have a d and a factor.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# The larger m. Two factors, each `exp(own m − m)`. The sum of two products. When m is −inf, both exponents
# would be NaN: subtract 0 in place of m. Then each factor is `exp(−inf)`, which is 0.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# Let `base` be `m`, or `numba.float32(0.0)` if `m` is −inf. Return
# `m, d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)`: m itself, not `base`.
#
# </details>

# %% [markdown]
# **If it fails**
#
# | symptom | cause |
# |---|---|
# | wrong whenever m1 and m2 differ | the d are added as they are; one factor for both; the two sides swapped |
# | right one way round only | only one side is rescaled |
# | inf, or d far too large | a factor upside down: `exp(m − m1)` |
# | d too small | the side with the smaller m is thrown away |
# | m is not the larger one | `m1` is returned, or `d` before `m` |

# %% [markdown]
# **If `rescale` fails**
#
# | symptom | cause |
# |---|---|
# | NaN for two empty states | the guard is missing |
# | empty where one side is not | the guard asks whether *either* side is −inf; ask for m |
# | m is 0 or −10000 where both are empty | `base` is returned, or a number stands in for −inf |
# | d is 1 too large | an empty side counts as a value |
# | a NaN beside an empty state is lost | the guard returns too early: `max` passes over a NaN, so m may still be −inf |

# %% [markdown]
# **Self-check.** Why is (−inf, 0) the identity? Which factor multiplies which d?
#
# <details><summary>Answer</summary>
#
# Against a finite m the empty side's factor is `exp(−inf − m) = 0`, and its d is 0: nothing is added. The other
# side's factor is `exp(m − m) = 1`. And −inf never wins the maximum.
#
# </details>

# %% [markdown]
# ## Exercise 2: a tree of pairs
#
# **Goal.** `online_softmax_tree(X, Y)`, launch `[rows, 256]`. Thread t folds columns t, t + 256, t + 512 …
# into a state of its own; a shared tree merges the 256 states; then the block writes.
#
# **Budget.** `X` twice, `Y` once, coalesced. About 25 lines.

# %% [markdown]
# **Example.** Four threads and a row of six: 3 1 4 2 8 5. Thread 0 folds 3 and 8, thread 1 folds 1 and 5, the
# others one number each. With a row of two, threads 2 and 3 stay empty and meet in the tree.

# %% [markdown]
# **Specification.** Shares, then halves. A number x is the state (x, 1).


# %%
def tree_state_spec(x, threads=256):
    """x [n], n at least threads -> (m, d): the shares' states, merged half by half."""
    shares = [x[t::threads].astype(np.float64) for t in range(threads)]
    m = np.array([share.max() for share in shares])
    d = np.array([np.exp(share - share.max()).sum() for share in shares])
    while m.size > 1:
        half = m.size // 2
        m, d = merge_spec(m[:half], d[:half], m[half:], d[half:])
    return m[0], d[0]


def softmax_spec(X):
    """X [rows, n] float32 -> [rows, n] float64: safe softmax of each row, for comparison."""
    wide = X.astype(np.float64)
    terms = np.exp(wide - wide.max(axis=1, keepdims=True))
    return terms / terms.sum(axis=1, keepdims=True)


# %% [markdown]
# **Your kernel.** Use your `merge` in the loop and in the tree. The tree needs two shared arrays, one for the
# m and one for the d. A barrier in every step, outside of the `if`.


# %% nbgrader={"grade_id": "online_softmax_tree", "solution": true}
@cuda.jit
def online_softmax_tree(X, Y):
    """X, Y [rows, n] float32; one block of THREADS threads a row; X is read twice."""
    ### BEGIN SOLUTION
    ms = cuda.shared.array(THREADS, numba.float32)
    ds = cuda.shared.array(THREADS, numba.float32)
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for j in range(t, n, THREADS):  # this thread's share: a number x is the state (x, 1)
        m, d = merge(m, d, X[row, j], numba.float32(1.0))
    ms[t] = m
    ds[t] = d
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:  # the upper half is merged into the lower
        if t < half:
            ms[t], ds[t] = merge(ms[t], ds[t], ms[t + half], ds[t + half])
        cuda.syncthreads()
        half //= 2
    m = ms[0]
    d = ds[0]
    for j in range(t, n, THREADS):
        Y[row, j] = math.exp(X[row, j] - m) / d
    ### END SOLUTION


# %% [markdown]
# **Look.** Four rows of 1,024; row 1 is loud in one thread's share. Two coalesced reads of `X` are
# 2 · 4 · 1,024 / 8 = 1,024 sectors.

# %%
rng = np.random.default_rng(1)
X = rng.normal(size=(4, 1024)).astype(np.float32)
X[1, 1000] = 20
Y = np.full_like(X, np.nan)
xray(online_softmax_tree[4, 256], X, Y)

# %%
m, d = tree_state_spec(X[0])
print(f"row 0, spec: m = {m:.4f}, d = {d:.4f}")
print(f"1 / the largest output of row 0: {1 / Y[0].max():.4f}")  # exp(m - m) / d is 1 / d
print("largest difference from safe softmax:", np.abs(Y - softmax_spec(X)).max())

# %% [markdown]
# **Checks.** `values`: ordinary rows and ragged lengths, rows shorter than the block among them.

# %% nbgrader={"grade_id": "online_softmax_tree_values", "grade": true, "points": 1}
check("lab3.online_softmax_tree.values", online_softmax_tree)

# %% [markdown]
# `rescale`: the loud rows, now with −inf for whole threads, and one NaN.

# %% nbgrader={"grade_id": "online_softmax_tree_rescale", "grade": true, "points": 2}
check("lab3.online_softmax_tree.rescale", online_softmax_tree)

# %% nbgrader={"grade_id": "online_softmax_tree_traffic", "grade": true, "points": 1}
check("lab3.online_softmax_tree.traffic", online_softmax_tree)

# %% nbgrader={"grade_id": "online_softmax_tree_safety", "grade": true, "points": 1}
check("lab3.online_softmax_tree.safety", online_softmax_tree)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Lab 1's tree, with a pair in place of a number and `merge` in place of `max`. Before it, the loop over the
# row is `merge` again, with the state (x, 1).
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Start with the identity. Fold the share. Store m and d, barrier. While half is above 0: the lower half
# merges in its partner's pair; barrier; halve. Everybody reads place 0. Write the row in a second loop.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# The share: `m, d = merge(m, d, X[row, j], numba.float32(1.0))` for j from t in steps of 256.
#
# The tree: `ms[t], ds[t] = merge(ms[t], ds[t], ms[t + half], ds[t + half])`. Both new values come out of one
# call: m is not stored before d has used it.
#
# </details>

# %% [markdown]
# **If the numbers are wrong**
#
# | symptom | cause |
# |---|---|
# | wrong everywhere but on constant rows | the d are added in the tree; m is stored before d has used the old one, or not at all |
# | NaN on rows shorter than 256 | two empty states: the guard in `merge` |
# | wrong on rows shorter than 256 | idle threads hand in a 0, or the tree starts from n states in place of 256 |
# | about half of d is missing | the last step, half = 1, is left out |
# | each thread another result | `ms[t]` is read after the tree, in place of `ms[0]` |
# | wrong where all is negative | m starts at 0 or at a finite stand-in |
# | all rows like row 0 | `cuda.blockIdx.x` is missing |

# %% [markdown]
# **If traffic or safety fails**
#
# | symptom | cause |
# |---|---|
# | `X` three times | maximum and sum have a read each |
# | too many sectors | a thread takes neighbours: stride 256 is coalesced |
# | `Y` is loaded | terms are kept in `Y` |
# | a race on `ms` or `ds` | a step without its barrier, none before the first, or one thread too many: `t <= half` |
# | a divergent barrier | it stands inside `if t < half` |

# %% [markdown]
# **Self-check.** Lab 2's kernel ran a tree in *every* tile. How many trees does this one run, and what did it
# pay for that?
#
# <details><summary>Answer</summary>
#
# One a row, however long the row is. Each thread now rescales alone, whenever its own maximum moves, and the
# tree carries two numbers a thread and needs two exponentials a merge.
#
# </details>

# %% [markdown]
# ## Exercise 3: warp shuffles
#
# **Goal.** `online_softmax_warp(X, Y)`, launch `[rows, B]` with **any** B that is a multiple of 32, up to
# 1,024. Level 1: the lanes of each warp merge by shuffles. Level 2: one pair for each warp, through shared
# memory.
#
# **Budget.** `X` twice, `Y` once, coalesced. About 35 lines.

# %% [markdown]
# **Picture.** The butterfly, recorded from a run: each lane notes the lane that it reads. A box counts the
# lanes whose states have come together in it.


# %%
@cuda.jit
def note_lanes(sources):
    """sources [5, 32] int32: the lane that each lane reads in each step."""
    lane = cuda.threadIdx.x
    for step in range(5):
        sources[step, lane] = cuda.shfl_xor_sync(0xFFFFFFFF, lane, 16 >> step)


sources = np.zeros((5, 32), np.int32)
note_lanes[1, 32](sources)
exchange_picture(sources, labels=[f"xor {o}" for o in (16, 8, 4, 2, 1)], title="The butterfly, recorded")

# %% [markdown]
# **Specification.** One level, in NumPy: lane l reads lane l xor offset.


# %%
def butterfly_spec(m, d):
    """m, d float64 [32] -> the states after five steps; no pair that meets may be empty on both sides."""
    for offset in (16, 8, 4, 2, 1):
        other = np.arange(32) ^ offset
        m, d = merge_spec(m, d, m[other], d[other])
    return m, d


# %% [markdown]
# **Predict.** A block of 96 has 3 warps. In level 2 a whole warp merges 3 pairs. What must lanes 3 to 31
# hold? And how many pairs of *empty* states meet in the first step, xor 16?
#
# <details><summary>Answer</summary>
#
# The identity, (−inf, 0). In xor 16 lane l meets lane l + 16: of the 16 meetings, those of lanes 0, 1 and 2
# have one live side. The other 13 are empty on both sides.
#
# </details>

# %% [markdown]
# **Your kernel.** `cuda.blockDim.x` is B. A state needs two shuffles a step. All 32 lanes must make the same
# call, so shuffle outside of every branch.


# %% nbgrader={"grade_id": "online_softmax_warp", "solution": true}
@cuda.jit(device=True)
def warp_merge(m, d):
    """The state of all 32 lanes, in every lane. You need not use this function."""
    ### BEGIN SOLUTION
    offset = 16
    while offset > 0:
        m_other = cuda.shfl_xor_sync(0xFFFFFFFF, m, offset)
        d_other = cuda.shfl_xor_sync(0xFFFFFFFF, d, offset)
        m, d = merge(m, d, m_other, d_other)
        offset //= 2
    return m, d
    ### END SOLUTION


@cuda.jit
def online_softmax_warp(X, Y):
    """X, Y [rows, n] float32; one block a row, any multiple of 32 threads; X is read twice."""
    ### BEGIN SOLUTION
    ms = cuda.shared.array(32, numba.float32)  # a pair for each warp; a block has at most 32
    ds = cuda.shared.array(32, numba.float32)
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    threads = cuda.blockDim.x
    lane, warp = t % 32, t // 32
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for j in range(t, n, threads):
        m, d = merge(m, d, X[row, j], numba.float32(1.0))
    m, d = warp_merge(m, d)
    if lane == 0:
        ms[warp] = m
        ds[warp] = d
    cuda.syncthreads()
    m = numba.float32(-math.inf)  # level 2: a lane without a warp holds the identity
    d = numba.float32(0.0)
    if lane < threads // 32:
        m = ms[lane]
        d = ds[lane]
    m, d = warp_merge(m, d)  # every warp does it, so every thread has the result
    for j in range(t, n, threads):
        Y[row, j] = math.exp(X[row, j] - m) / d
    ### END SOLUTION


# %% [markdown]
# **Look.** A block of 96: three warps, so 29 idle lanes in level 2. Then the differences for other blocks.

# %%
Y = np.full_like(X, np.nan)
xray(online_softmax_warp[4, 96], X, Y)

# %%
for block in (32, 64, 96, 256, 1024):
    Y = np.full_like(X, np.nan)
    xray(online_softmax_warp[4, block], X, Y)
    print(f"block {block:4}: largest difference {np.abs(Y - softmax_spec(X)).max():.1e}")

# %% [markdown]
# **Checks.** The same four, with blocks of many sizes.

# %% nbgrader={"grade_id": "online_softmax_warp_values", "grade": true, "points": 1}
check("lab3.online_softmax_warp.values", online_softmax_warp)

# %% nbgrader={"grade_id": "online_softmax_warp_rescale", "grade": true, "points": 2}
check("lab3.online_softmax_warp.rescale", online_softmax_warp)

# %% nbgrader={"grade_id": "online_softmax_warp_traffic", "grade": true, "points": 1}
check("lab3.online_softmax_warp.traffic", online_softmax_warp)

# %% nbgrader={"grade_id": "online_softmax_warp_safety", "grade": true, "points": 1}
check("lab3.online_softmax_warp.safety", online_softmax_warp)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Five shuffle steps replace five steps of the tree, without barriers. They reach 32 lanes and no further, so
# one pair of each warp goes through shared memory, and five more steps merge those.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Fold the share. Five steps. Lane 0 of each warp stores its pair; barrier. Each lane takes a pair, if there
# is a warp of its number, otherwise the identity. Five steps again, in every warp: then every thread holds
# the result.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# A step: `m2 = cuda.shfl_xor_sync(0xFFFFFFFF, m, offset)`, the same for d, then merge. Fetch both before you
# change either.
#
# Level 2: start from (−inf, 0); `if lane < cuda.blockDim.x // 32` read the pair of that lane. The shuffles come
# after the `if`.
#
# </details>

# %% [markdown]
# **If the numbers are wrong**
#
# | symptom | cause |
# |---|---|
# | wrong everywhere | the d of lanes, or of warps, are added although each has its own m; m changes before d is shuffled |
# | one thread right, or one warp | `shfl_down` leaves the result in lane 0: hand it out, or use xor |
# | right with 32 threads only | the warps are never merged |
# | half of the lanes missing | the offsets start at 8 |
# | NaN with blocks below 1,024 | idle lanes meet idle lanes: the guard in `merge` |
# | right with 256 only | a fixed number of warps or threads: use `cuda.blockDim.x` |
# | wrong with 96 | level 2 halves the number of warps: 3 is no power of two |
# | most columns not written | the last loop stands under the condition of level 2 |

# %% [markdown]
# **If traffic or safety fails**
#
# | symptom | cause |
# |---|---|
# | unwritten shared memory is read | level 2 reads past the number of warps |
# | a lane takes no part | the shuffle is inside a branch or a loop that some lanes leave early |
# | a race on `ms` | no barrier between storing the pairs and reading them |
# | `X` three times | a read for the maximum, and one for the sum |

# %% [markdown]
# **Self-check.** Which lanes may be read with a full mask?
#
# <details><summary>Answer</summary>
#
# All 32, if all 32 make the call: none has returned or waits in another branch, and the block is a multiple
# of 32. Lanes without work stay and hold the identity.
#
# </details>

# %% [markdown]
# ## Exercise 4: predict the requests
#
# **Goal.** `load4` reads four neighbouring floats in one instruction. `vec4_load_requests(rows, n)`: how many
# load requests do two reads of `X`, float32 `[rows, n]`, take when every lane loads 16 bytes? n is a multiple
# of 1,024.

# %% [markdown]
# **Picture.** One request: 32 lanes, 16 bytes each.

# %%
sector_map(range(0, 128, 4), per_lane=4, title="One request of 16-byte loads")

# %% [markdown]
# **Your formula.** A function of two whole numbers. Only arithmetic is allowed in it.


# %% nbgrader={"grade_id": "predict_requests", "solution": true}
def vec4_load_requests(rows, n):
    """Load requests of two reads of X [rows, n] with 16-byte loads; 1,024 divides n."""
    ### BEGIN SOLUTION
    return 2 * rows * n // (32 * 4)  # two reads; a request brings 32 lanes 4 numbers each
    ### END SOLUTION


# %% nbgrader={"grade_id": "predict_requests_answer", "grade": true, "points": 1}
check("lab3.predict_requests.answer", vec4_load_requests)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# A request is one load instruction of one warp. How many numbers does it bring?
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Numbers that are read, over numbers a request. The row is read twice.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the line</summary>
#
# 32 lanes with 4 numbers each are 128 a request, and `2 * rows * n` numbers are read.
#
# </details>

# %% [markdown]
# **If it fails**
#
# | symptom | cause |
# |---|---|
# | four times too much | counted with 4-byte loads |
# | 16 times too much | sectors counted, not requests: each of these requests moves 16 |
# | 32 times too much | counted by lane, not by warp |
# | half of it | one read |
# | half as much again | the stores are counted, too |

# %% [markdown]
# **Self-check.** By how much do the *sectors* fall?
#
# <details><summary>Answer</summary>
#
# Not at all. The same bytes come in the same sectors; a request asks for 16 of them in place of 4. What is
# saved is instructions, and each of them keeps more bytes on their way.
#
# </details>

# %% [markdown]
# ## Exercise 5: 16-byte loads
#
# **Goal.** `online_softmax_vec4(X, Y)`, launch `[rows, 256]`, **any** n. Where a row allows it, load and store
# four numbers at a time.
#
# **Budget.** `X` twice, `Y` once, coalesced; and a quarter of the requests where 16 bytes are possible. About
# 35 lines.

# %% [markdown]
# **Tools.** `load4(x, i)` gives `x[i]` to `x[i+3]` as four values; `store4(y, i, a, b, c, d)` writes four.
# `x` and `y` are 1-D: in a kernel, `x = X[row]` is a row. The place must lie at a multiple of 16 bytes, or
# the GPU stops the kernel.

# %%
from autograder.kernels import load4, store4

for n in (1000, 1001, 1002):
    starts = [4 * n * row % 16 for row in range(5)]
    print(f"n = {n}: rows 0 to 4 begin {starts} bytes past a multiple of 16; {n % 4} left over")

# %% [markdown]
# **Predict.** For n = 1,002: which rows may use `load4`, from which column to which? What must be done one by
# one?
#
# <details><summary>Answer</summary>
#
# Rows 0, 2, 4 … begin at a multiple of 16 bytes: columns 0 to 999 in fours, and the tail, 1,000 and 1,001,
# one by one. Rows 1, 3 … begin 8 bytes off: read them one by one altogether.
#
# </details>

# %% [markdown]
# **Specification.** `softmax_spec`, as before. A merge in any order gives the same state, so it does not
# matter which thread takes which four.

# %% [markdown]
# **Your kernel.** Neighbouring threads take neighbouring **fours**. The tree or the shuffles may be those of
# your last two exercises.


# %% nbgrader={"grade_id": "online_softmax_vec4", "solution": true}
@cuda.jit
def online_softmax_vec4(X, Y):
    """X, Y [rows, n] float32; one block of THREADS threads a row; 16-byte loads and stores where the row allows."""
    ### BEGIN SOLUTION
    ms = cuda.shared.array(THREADS, numba.float32)
    ds = cuda.shared.array(THREADS, numba.float32)
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    x, y = X[row], Y[row]
    body = 0  # columns before it go in fours, the others one by one
    if row * n % 4 == 0:  # the row begins at a multiple of 16 bytes
        body = n - n % 4
    one = numba.float32(1.0)
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for j in range(4 * t, body, 4 * THREADS):
        a, b, c, e = load4(x, j)
        m, d = merge(m, d, a, one)
        m, d = merge(m, d, b, one)
        m, d = merge(m, d, c, one)
        m, d = merge(m, d, e, one)
    for j in range(body + t, n, THREADS):
        m, d = merge(m, d, x[j], one)
    ms[t] = m
    ds[t] = d
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            ms[t], ds[t] = merge(ms[t], ds[t], ms[t + half], ds[t + half])
        cuda.syncthreads()
        half //= 2
    m, d = ms[0], ds[0]
    for j in range(4 * t, body, 4 * THREADS):
        a, b, c, e = load4(x, j)
        store4(y, j, math.exp(a - m) / d, math.exp(b - m) / d, math.exp(c - m) / d, math.exp(e - m) / d)
    for j in range(body + t, n, THREADS):
        y[j] = math.exp(x[j] - m) / d
    ### END SOLUTION


# %% [markdown]
# **Look.** Your formula and the count, for 4 rows of 1,024. Then the same in a row length with a tail.

# %%
Y = np.full_like(X, np.nan)
look = xray(online_softmax_vec4[4, 256], X, Y)
try:
    print(f"predicted {vec4_load_requests(4, 1024)}, counted {look.traffic.load_requests} load requests")
except NotImplementedError:
    print("vec4_load_requests is not written yet")
look

# %%
ragged = rng.normal(size=(4, 1002)).astype(np.float32)
Y = np.full_like(ragged, np.nan)
look = xray(online_softmax_vec4[4, 256], ragged, Y)
print(*(look.findings or [look.message or "no findings"]), sep="\n")
print("largest difference from safe softmax:", np.abs(Y - softmax_spec(ragged)).max())

# %% [markdown]
# **Checks.** `traffic` also counts requests, where rows are aligned.

# %% nbgrader={"grade_id": "online_softmax_vec4_values", "grade": true, "points": 1}
check("lab3.online_softmax_vec4.values", online_softmax_vec4)

# %% nbgrader={"grade_id": "online_softmax_vec4_rescale", "grade": true, "points": 1}
check("lab3.online_softmax_vec4.rescale", online_softmax_vec4)

# %% nbgrader={"grade_id": "online_softmax_vec4_traffic", "grade": true, "points": 2}
check("lab3.online_softmax_vec4.traffic", online_softmax_vec4)

# %% nbgrader={"grade_id": "online_softmax_vec4_safety", "grade": true, "points": 1}
check("lab3.online_softmax_vec4.safety", online_softmax_vec4)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Exercise 2 with two loops in place of one: a loop over fours up to a column `body`, then a loop over single
# columns from there on. A row that begins in the wrong place has `body` 0.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Find `body`. Loop in fours, four merges each; loop over the tail. Merge the block. Then loop in fours again:
# load, four outputs, `store4`; and once more over the tail.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# Row r begins at float number `r * n`: it is aligned if `row * n % 4 == 0`. Then `body = n - n % 4`,
# otherwise 0.
#
# Fours: `for j in range(4 * t, body, 4 * THREADS)`. Tail: `for j in range(body + t, n, THREADS)`.
#
# </details>

# %% [markdown]
# **If it fails**
#
# | symptom | cause |
# |---|---|
# | wrong or unwritten where 4 does not divide n | the tail is dropped, or not in d, or folded by every thread |
# | an access past the row's end | the last four reaches over it |
# | address not a multiple of 16 | rows whose `row * n` is no multiple of 4 |
# | too many requests | 4-byte loads or stores where 16 would do; an aligned row may not go one by one for its tail |
# | too many sectors | four neighbours with four single loads |
# | `X` is read four times as often | the step is 256: a block takes 1,024 columns at a time |
# | wrong when the maximum moves | one m for the four, with d not rescaled |

# %% [markdown]
# **Self-check.** n = 1,001: three rows of four are read one by one. How else could they be read?
#
# <details><summary>Answer</summary>
#
# Begin with the few columns before the next multiple of 16 bytes (the **head**, up to three), then fours,
# then the tail. It reads nearly all in fours, for more code and a third loop.
#
# </details>

# %% [markdown]
# ## Exercise 6: grid stride
#
# **Goal.** `online_softmax_grid_stride(X, Y)`: a fixed number of blocks for any number of rows. Block b takes
# rows b, b + gridDim, b + 2·gridDim … The tests launch 4 blocks of 256.
#
# **Budget.** `X` twice, `Y` once, coalesced. Exercise 2 and about 3 lines.

# %% [markdown]
# **Picture.** Ten rows, four blocks:

# %%
for b in range(4):
    print(f"block {b}: rows", list(range(b, 10, 4)))

# %% [markdown]
# **Specification.** `softmax_spec`. One question decides the kernel: when may a thread store its pair for the
# **next** row?
#
# **Your kernel.** `cuda.gridDim.x` is the number of blocks.


# %% nbgrader={"grade_id": "online_softmax_grid_stride", "solution": true}
@cuda.jit
def online_softmax_grid_stride(X, Y):
    """X, Y [rows, n] float32; any number of blocks of THREADS threads; X is read twice."""
    ### BEGIN SOLUTION
    ms = cuda.shared.array(THREADS, numba.float32)
    ds = cuda.shared.array(THREADS, numba.float32)
    t, rows, n = cuda.threadIdx.x, X.shape[0], X.shape[1]
    for row in range(cuda.blockIdx.x, rows, cuda.gridDim.x):
        m = numba.float32(-math.inf)
        d = numba.float32(0.0)
        for j in range(t, n, THREADS):
            m, d = merge(m, d, X[row, j], numba.float32(1.0))
        ms[t] = m
        ds[t] = d
        cuda.syncthreads()
        half = THREADS // 2
        while half > 0:
            if t < half:
                ms[t], ds[t] = merge(ms[t], ds[t], ms[t + half], ds[t + half])
            cuda.syncthreads()
            half //= 2
        m = ms[0]
        d = ds[0]
        for j in range(t, n, THREADS):
            Y[row, j] = math.exp(X[row, j] - m) / d
        cuda.syncthreads()  # everybody has read place 0 before the next row overwrites it
    ### END SOLUTION


# %% [markdown]
# **Look.** Ten rows of 512, four blocks. The picture shows block 0 only: rows 0, 4 and 8.

# %%
many = rng.normal(size=(10, 512)).astype(np.float32)
Y = np.full_like(many, np.nan)
xray(online_softmax_grid_stride[4, 256], many, Y)

# %%
print("largest difference from safe softmax:", np.abs(Y - softmax_spec(many)).max())

# %% [markdown]
# **Checks.** More rows than blocks, fewer rows than blocks, and the loud rows.

# %% nbgrader={"grade_id": "online_softmax_grid_stride_values", "grade": true, "points": 1}
check("lab3.online_softmax_grid_stride.values", online_softmax_grid_stride)

# %% nbgrader={"grade_id": "online_softmax_grid_stride_rescale", "grade": true, "points": 1}
check("lab3.online_softmax_grid_stride.rescale", online_softmax_grid_stride)

# %% nbgrader={"grade_id": "online_softmax_grid_stride_traffic", "grade": true, "points": 1}
check("lab3.online_softmax_grid_stride.traffic", online_softmax_grid_stride)

# %% nbgrader={"grade_id": "online_softmax_grid_stride_safety", "grade": true, "points": 1}
check("lab3.online_softmax_grid_stride.safety", online_softmax_grid_stride)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Put all of exercise 2 into a loop over rows. What has to begin afresh in each round, and what is shared with
# the round before?
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# In the loop: the state from (−inf, 0), the share, the tree, the outputs. The shared arrays are used again in
# the next round: a barrier at the end of the loop keeps the fast threads from overwriting what the slow ones
# still read.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# `for row in range(cuda.blockIdx.x, X.shape[0], cuda.gridDim.x)`, and `cuda.syncthreads()` as the last line
# in it. All threads of a block run the same rows, so all of them meet there.
#
# </details>

# %% [markdown]
# **If it fails**
#
# | symptom | cause |
# |---|---|
# | only the first four rows are written | no loop over rows |
# | rows after the first of a block are wrong | the state does not begin afresh, or `X` is read at `cuda.blockIdx.x` |
# | some rows not written | the step is not `cuda.gridDim.x`, or the last round is dropped |
# | four times the traffic, a race on `Y` | every block starts at row 0 |
# | an access past the last row | the last round is not guarded |
# | a race on `ms` or `ds`; the order of threads matters | no barrier at the end of the loop |

# %% [markdown]
# **Self-check.** What does grid stride do for one row of ten million numbers?
#
# <details><summary>Answer</summary>
#
# Nothing: one row is one block's work, and the other blocks end at once. Such a row needs several blocks,
# each with a piece and a pair, and a second merge over the pairs. The laws of `merge` allow it.
#
# </details>

# %% [markdown]
# ## Exercise 7: break it
#
# This model of a kernel folds each thread's share correctly, then **adds** the threads' d, although each of
# them has its own m. A published kernel did so, and its author's test saw no error.


# %%
def adds_the_d(x, threads=256):
    """x [n] float32 -> [n]: each thread has its own m, and the d are added as they are."""
    shares = [x[t::threads].astype(np.float64) for t in range(min(threads, x.size))]
    m = max(share.max() for share in shares)
    d = sum(np.exp(share - share.max()).sum() for share in shares)
    return np.exp(x - m) / d


# %% [markdown]
# **Goal.** `breaking_value(i, n)`: the number at position i of a row of n on which that kernel is wrong and a
# right one is right. Values between −10,000 and 10,000. The check tries rows of 700, 1,024 and 1,500, so let
# positions follow from n.


# %% nbgrader={"grade_id": "breaking_value", "solution": true}
def breaking_value(i, n):
    """The value at position i of a row of n: a row on which adding the d goes wrong."""
    ### BEGIN SOLUTION
    return 20.0 if i == n - 1 else 0.0  # one thread's maximum is 20, all others' is 0
    ### END SOLUTION


# %% [markdown]
# **Look.** What the model makes of your row in three lengths, and of a row where all numbers are equal.


# %%
def trial(value, n):
    """What adds_the_d makes of the row, in a sentence."""
    try:
        x = np.array([value(i, n) for i in range(n)], dtype=np.float32)
    except NotImplementedError:
        return "not written yet"
    found, right = adds_the_d(x), softmax_spec(x[None])[0]
    wrong = np.count_nonzero(~(np.abs(found - right) <= 1e-5 * right + 1.2e-38))
    return f"wrong in {wrong} of {n} places; the outputs sum to {found.sum():.4f}"


for n in (700, 1024, 1500):
    print(f"your row, n = {n:4}:", trial(breaking_value, n))
print("a row of zeros:    ", trial(lambda i, n: 0.0, 1024))

# %% nbgrader={"grade_id": "breaking_value_answer", "grade": true, "points": 1}
check("lab3.breaking_value.answer", breaking_value)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Adding the d is right exactly when all factors are 1: when every thread has the same maximum. Make one
# thread's maximum differ.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Zeros everywhere, and one loud number somewhere. Which thread reads it, does not matter.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the line</summary>
#
# `return 20.0 if i == … else 0.0`, with some position in place of the dots.
#
# </details>

# %% [markdown]
# **If it fails**
#
# | symptom | cause |
# |---|---|
# | the wrong kernel is right on it | every thread has the same maximum, as when all values are equal |
# | right on one length only | a position such as 1,000 lies outside of a row of 700: write `n - 1` |
# | the difference is too small | the maxima differ by less than the gate sees |
# | a value is not allowed | an infinity, a NaN, or more than 10,000 |

# %% [markdown]
# **Self-check.** Why did the author's own test see nothing?
#
# <details><summary>Answer</summary>
#
# Plain inputs hide it: with equal numbers all factors are 1, and with a loose tolerance on small outputs a
# wrong d is not seen. A test must let the threads' maxima differ, and compare relative to the right answer.
#
# </details>

# %% [markdown]
# ## Exercise 8: in your words
#
# In at most 120 words: show that `merge` is associative, from what a state stands for. And say what is needed
# to give *one* row of ten million numbers to eight cards: what does each compute, and what crosses the wire?
#
# A person reads this: 1 point for each question.

# %% [markdown] nbgrader={"grade_id": "lab3_written", "grade": true, "solution": true, "points": 2}
# A state stands for the maximum and for the plain sum `d·e^m` of its set. `merge` takes the maximum of the
# maxima and adds the sums: `d·e^m = d1·e^m1 + d2·e^m2`. Both are associative, so `merge` is; in float32 up to
# rounding of d. (1 point)
#
# Each card folds its eighth into one pair (m, d). The eight pairs are merged, in any order, and the result
# goes back: one pair of 8 bytes a card each way. Then each card writes its own eighth of the outputs. (1
# point)

# %% [markdown]
# ## You have
#
# * written `merge`, right for empty states
# * reduced pairs in a tree and in a butterfly
# * predicted, then counted, a quarter of the requests
# * let four blocks do any number of rows
# * built a row that exposes lanes whose d are added
#
# A later lab keeps the row and reads it once.
