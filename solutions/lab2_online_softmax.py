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
# # Lab 2: online softmax
#
# Safe softmax reads the row three times, because the denominator waits for the maximum. You now
# compute both in one read, by correcting the denominator whenever the maximum moves. Two kernels do it:
# one thread a row, right and slow, and then one block a row.

# %% [markdown]
# ## You will
#
# * keep the state `(m, d)` and rescale `d` when `m` moves
# * predict the sectors of a kernel whose lanes read a row apart
# * fold a whole tile at a time, in the right order
# * guard the one place where −inf − −inf would appear
# * build a row that exposes a kernel without the rescale, and one that hides it

# %% [markdown]
# ## Before you start
#
# Read lesson 02 (online softmax) and finish lab 1. **Time.** About 2 hours.
#
# On your machine: `make lab`; the README has the same without make. On Colab: open this notebook and
# run the first cell, which installs what is missing. *Runtime → Change runtime type → T4* gives a real
# GPU. Without one, the simulator runs the same code.

# %% [markdown]
# ## Points
#
# | | values | rescale | traffic | safety | answer | total |
# |---|---|---|---|---|---|---|
# | 1 `rows_kernel_load_sectors` | | | | | 1 | 1 |
# | 2 `online_softmax_rows` | 2 | 2 | 1 | 1 | | 6 |
# | 3 `online_softmax_tiled` | 2 | 3 | 2 | 1 | | 8 |
# | 4 `breaking_value` | | | | | 1 | 1 |
# | 4 `forgiving_value` | | | | | 1 | 1 |
# | 5 in your words | | | | | 2, read by a person | 2 |

# %% [markdown]
# Each graded cell is one `check`. Its last line is what you earned; a check with several groups of
# cases gives part of its points for part of the groups. Run it as often as you like. Grading runs the
# same kinds of rows with other numbers.

# %% tags=["setup"]
# setup

# %%
TILE = 256  # columns that a block handles at once, and threads of a block, in exercise 3

# %% [markdown]
# ## The rule
#
# Start from $m = -\infty$, $d = 0$. For every element $x$:
#
# $$m_{\text{new}} = \max(m, x), \qquad d_{\text{new}} = d \cdot e^{m - m_{\text{new}}} + e^{x - m_{\text{new}}}$$
#
# The factor $e^{m - m_{\text{new}}}$ is the **rescale**. It is at most 1. When the maximum does not move it is
# exactly 1, and the update is a plain sum.

# %% [markdown]
# **Predict.** Fold x = 3 1 4 2 8 5 7 6 in two tiles of four. What is `m` after each tile? By which
# power of e is the first tile's `d` multiplied? Write your answers down, then run the cell.

# %%
x = [3, 1, 4, 2, 8, 5, 7, 6]
m, d = -math.inf, 0.0
for part in (x[:4], x[4:]):
    m_new = max(m, max(part))
    d = d * math.exp(m - m_new) + sum(math.exp(value - m_new) for value in part)
    print(f"tile {part}: m {m} -> {m_new}, d = {d:.6f}")
    m = m_new
print(f"all at once, with the final m: d = {sum(math.exp(value - m) for value in x):.6f}")

# %% [markdown]
# ## Exercise 1: predict the sectors
#
# **Goal.** The first kernel gives one thread to each row. `rows_kernel_load_sectors(rows, n)`: how many
# sectors do its loads move in the two reads of `X`, float32 `[rows, n]`? `rows` is a multiple of 32, `n`
# a multiple of 8.

# %% [markdown]
# **Picture.** One request is what the 32 lanes of a warp load together; a sector is 32 bytes. Here the
# lanes read side by side, as with one block a row. Draw the other case yourself: lane r reads
# `X[r, j]`, and rows lie `4·n` bytes apart.

# %%
from autograder.figures import sector_map, transfer_film

sector_map(range(32), title="One block a row: the first request")

# %% [markdown]
# **Your formula.** A function of two whole numbers. Only arithmetic is allowed in it.


# %% nbgrader={"grade_id": "predict_sectors", "solution": true}
def rows_kernel_load_sectors(rows, n):
    """Sectors loaded by one thread a row in two reads of X [rows, n]; 32 divides rows, 8 divides n."""
    ### BEGIN SOLUTION
    requests = 2 * (rows // 32) * n  # two reads; each of the warps walks along n columns
    return 32 * requests  # the 32 lanes hit 32 different rows: 32 sectors
    ### END SOLUTION


# %% nbgrader={"grade_id": "predict_sectors_answer", "grade": true, "points": 1}
check("lab2.predict_sectors.answer", rows_kernel_load_sectors)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Two rows of at least 8 floats never share a sector here: their elements in column `j` lie `4·n` bytes
# apart, which is 32 bytes or more.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Requests, times sectors in a request. A warp makes one request for each column and each read of the
# row; there are `rows / 32` warps with work.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the line</summary>
#
# Each request moves 32 sectors, and there are `2 * n * rows / 32` of them. What is left after
# cancelling?
#
# </details>

# %% [markdown]
# **If it fails**
#
# | symptom | cause |
# |---|---|
# | an eighth of the answer | counted as if neighbouring lanes read neighbours |
# | half of it, or three halves | one read, or the three of lab 1; this kernel makes two |
# | 1/32 of it | requests counted, not sectors |
# | four times too much | bytes counted, not sectors |

# %% [markdown]
# **Self-check.** Do the *bytes* that the threads ask for differ between the two kernels?
#
# <details><summary>Answer</summary>
#
# No: `2 · 4 · rows · n` both times. One thread a row moves a whole 32-byte sector for each 4 bytes it
# asks for: the same bytes, eight times the sectors.
#
# </details>

# %% [markdown]
# ## Exercise 2: one thread a row
#
# **Goal.** `online_softmax_rows(X, Y)`, float32 `[rows, n]`. Launch `[ceil(rows / 64), 64]`: thread
# number `cuda.grid(1)` owns that row. It folds the row into `(m, d)`, then writes.
#
# **Budget.** `X` twice, `Y` once. Sectors are shown, not judged. About 15 lines.

# %% [markdown]
# **Specification.** The rule, word for word, in float64. It has one hole on purpose: a row that
# begins with −inf.


# %%
def online_state_spec(x):
    """x [n] -> (m, d), element by element; x[0] must not be -inf."""
    m, d = -np.inf, 0.0
    for value in x.astype(np.float64):
        m_new = max(m, value)
        d = d * np.exp(m - m_new) + np.exp(value - m_new)
        m = m_new
    return m, d


def softmax_spec(X):
    """X [rows, n] float32 -> [rows, n] float64: safe softmax of each row, for comparison."""
    wide = X.astype(np.float64)
    terms = np.exp(wide - wide.max(axis=1, keepdims=True))
    return terms / terms.sum(axis=1, keepdims=True)


# %% [markdown]
# **The hole.** While only −inf has been seen, `m` and `m_new` are both −inf, and their difference is
# NaN. A NaN in `d` never leaves again.

# %%
print("-inf - -inf =", -math.inf - -math.inf)
print("exp of it   =", math.exp(-math.inf - -math.inf))
print("exp(-inf - 0) =", math.exp(-math.inf - 0.0))

# %% [markdown]
# **Your kernel.** Rows need not be a multiple of 64: what may the last threads of the last block not
# do? Guard the hole, and say in a comment on that line why.


# %% nbgrader={"grade_id": "online_softmax_rows", "solution": true}
@cuda.jit
def online_softmax_rows(X, Y):
    """X, Y [rows, n] float32; one thread a row; X is read twice."""
    ### BEGIN SOLUTION
    row = cuda.grid(1)
    n = X.shape[1]
    if row < X.shape[0]:  # the last block may have more threads than rows are left
        neg_inf = numba.float32(-math.inf)
        m = neg_inf
        d = numba.float32(0.0)
        for j in range(n):
            x = X[row, j]
            m_new = max(m, x)
            base = m_new
            if base == neg_inf:  # only -inf so far: -inf - -inf is NaN, -inf - 0 is not
                base = numba.float32(0.0)
            d = d * math.exp(m - base) + math.exp(x - base)
            m = m_new
        for j in range(n):
            Y[row, j] = math.exp(X[row, j] - m) / d
    ### END SOLUTION


# %% [markdown]
# **Look.** 64 rows of 128. The x-ray's load sectors should be what your formula gives for
# `(64, 128)`. Its load bytes are two reads of `X`: 2 · 4 · 64 · 128 = 65,536.

# %%
rng = np.random.default_rng(1)
X = rng.normal(size=(64, 128)).astype(np.float32)
X[1, 120] = 20
Y = np.full_like(X, np.nan)
xray(online_softmax_rows[1, 64], X, Y)

# %%
m, d = online_state_spec(X[0])
print(f"row 0, spec: m = {m:.4f}, d = {d:.4f}")
print(f"1 / the largest output of row 0: {1 / Y[0].max():.4f}")  # exp(m - m) / d is 1 / d
print("largest difference from safe softmax:", np.abs(Y - softmax_spec(X)).max())

# %% [markdown]
# **Checks.** `values`: ordinary rows, ragged lengths, row counts that are no multiple of 64.

# %% nbgrader={"grade_id": "online_softmax_rows_values", "grade": true, "points": 2}
check("lab2.online_softmax_rows.values", online_softmax_rows)

# %% [markdown]
# `rescale`: the loud rows. Loud last, loud first, a rising ramp, far below zero, −inf first and −inf in
# between, one NaN.

# %% nbgrader={"grade_id": "online_softmax_rows_rescale", "grade": true, "points": 2}
check("lab2.online_softmax_rows.rescale", online_softmax_rows)

# %% nbgrader={"grade_id": "online_softmax_rows_traffic", "grade": true, "points": 1}
check("lab2.online_softmax_rows.traffic", online_softmax_rows)

# %% nbgrader={"grade_id": "online_softmax_rows_safety", "grade": true, "points": 1}
check("lab2.online_softmax_rows.safety", online_softmax_rows)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# This is the specification with two changes: the row comes from the thread's number, and a second loop
# writes. The state lives in two registers; no shared memory, no barrier.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Only if the row exists: start the state; loop over the columns with the rule; store the new maximum
# last, after both exponents have used the old one. Then loop again and write. Constants are
# `numba.float32(…)`, or the arithmetic becomes float64.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# The guard: subtract some finite number while the maximum is still −inf. `if m_new == -inf`, the number
# is 0, otherwise it is `m_new`; call it `base`. Both exponents use it: `exp(m − base)` times the old
# `d`, plus `exp(x − base)`.
#
# </details>

# %% [markdown]
# **If the numbers are wrong**
#
# | symptom | cause |
# |---|---|
# | wrong when the maximum moves | `d` not rescaled, rescaled after adding, by the factor upside down, or thrown away |
# | wrong everywhere | `m` is never stored |
# | NaN on loud rows | no maximum, or the first element's for all |
# | wrong where all is negative | `m` starts at 0, or at a finite stand-in |
# | NaN after a first −inf | the guard is missing |
# | a row with NaN looks healthy | `x > −inf` skips it: ask `x != −inf` |

# %% [markdown]
# **If traffic or safety fails**
#
# | symptom | cause |
# |---|---|
# | `X` three times | the maximum has a pass of its own |
# | `Y` is loaded | terms are kept in `Y` |
# | `X` is stored to | it is used as scratch space |
# | an access past the last row | ask `row < X.shape[0]` first |
# | only the first 64 rows right | `cuda.threadIdx.x` in place of `cuda.grid(1)` |

# %% [markdown]
# **Self-check.** What exactly does the rescale multiply?
#
# <details><summary>Answer</summary>
#
# The sum of all terms so far, each of which was taken against the old maximum. One factor fits them
# all: `e^(x − m) · e^(m − m_new) = e^(x − m_new)`. The new term is not multiplied: it was taken against
# the new maximum.
#
# </details>

# %% [markdown]
# ## Exercise 3: one block a row, tile by tile
#
# **Goal.** `online_softmax_tiled(X, Y)`, launch `[rows, 256]`. The block folds the row in tiles of 256,
# a column a thread: find the tile's maximum, correct `d`, then add the tile.
#
# **Budget.** `X` twice, `Y` once, coalesced. About 35 lines.

# %% [markdown]
# **Picture.** The film's row again, in tiles of four. Two passes are left. Three took 8 transfers.

# %%
transfer_film(kind="online", columns=3)

# %% [markdown]
# **Order matters.** What is in `d` belongs to the old maximum; the tile's terms belong to the new one.
# Correct first, then add. The other way round, the tile's own terms are shrunk as well. Here are both
# orders, on the film's row:

# %%
old_d = sum(math.exp(value - 4) for value in (3, 1, 4, 2))
tile_sum = sum(math.exp(value - 8) for value in (8, 5, 7, 6))
factor = math.exp(4 - 8)
print(f"correct, then add: d = {old_d * factor + tile_sum:.6f}")
print(f"add, then correct: d = {(old_d + tile_sum) * factor:.6f}")

# %% [markdown]
# **Specification.** The same rule, a tile at a time. The same hole, on purpose: a first tile of −inf
# only.


# %%
def tiled_state_spec(x, tile=256):
    """x [n] -> (m, d), tile by tile; the first tile must hold a number above -inf."""
    m, d = -np.inf, 0.0
    wide = x.astype(np.float64)
    for start in range(0, wide.size, tile):
        part = wide[start : start + tile]
        m_new = max(m, part.max())
        d *= np.exp(m - m_new)  # correct what is there
        d += np.exp(part - m_new).sum()  # then add the tile
        m = m_new
    return m, d


# %% [markdown]
# **Ragged tail.** When n is not a multiple of 256, some threads have no column in the last tile. They
# take part all the same, with −inf: it cannot win the maximum, and `exp(−inf)` adds 0. A 0 there would
# add `exp(0 − m)`. They must not leave early: the barriers need all 256.

# %% [markdown]
# **Your kernel.** Each thread may keep its own share of `d`: all shares belong to the block's common
# `m`, so the same factor corrects each of them, and one plain sum at the end joins them.


# %% nbgrader={"grade_id": "online_softmax_tiled", "solution": true}
@cuda.jit
def online_softmax_tiled(X, Y):
    """X, Y [rows, n] float32; one block of TILE threads a row; X is read twice."""
    ### BEGIN SOLUTION
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    red = cuda.shared.array(TILE, numba.float32)
    neg_inf = numba.float32(-math.inf)
    m = neg_inf
    d = numba.float32(0.0)  # this thread's share, against the common m
    for start in range(0, n, TILE):
        x = neg_inf  # past the end of the row: the identity
        if start + t < n:
            x = X[row, start + t]
        red[t] = x
        cuda.syncthreads()
        half = TILE // 2
        while half > 0:  # the tile's maximum
            if t < half:
                red[t] = max(red[t], red[t + half])
            cuda.syncthreads()
            half //= 2
        m_new = max(m, red[0])
        cuda.syncthreads()  # everybody has read it before the next tile overwrites it
        base = m_new
        if base == neg_inf:  # only -inf so far: -inf - -inf is NaN, -inf - 0 is not
            base = numba.float32(0.0)
        d = d * math.exp(m - base) + math.exp(x - base)  # correct, then add
        m = m_new
    red[t] = d
    cuda.syncthreads()
    half = TILE // 2
    while half > 0:  # all shares belong to the same m: a plain sum
        if t < half:
            red[t] += red[t + half]
        cuda.syncthreads()
        half //= 2
    d = red[0]
    for j in range(t, n, TILE):
        Y[row, j] = math.exp(X[row, j] - m) / d
    ### END SOLUTION


# %% [markdown]
# **Look.** Four rows of 1,024, so four tiles; row 1 is loud in the last. In sectors, two coalesced
# reads of `X` are 2 · 4 · 1,024 / 8 = 1,024. The picture shows which tile each pass reads.

# %%
X = rng.normal(size=(4, 1024)).astype(np.float32)
X[1, 1000] = 20
Y = np.full_like(X, np.nan)
xray(online_softmax_tiled[4, 256], X, Y)

# %%
m, d = tiled_state_spec(X[0])
print(f"row 0, spec: m = {m:.4f}, d = {d:.4f}")
print(f"1 / the largest output of row 0: {1 / Y[0].max():.4f}")
print("largest difference from safe softmax:", np.abs(Y - softmax_spec(X)).max())

# %% [markdown]
# **Checks.** The same four. `rescale` now also sends whole tiles of −inf first.

# %% nbgrader={"grade_id": "online_softmax_tiled_values", "grade": true, "points": 2}
check("lab2.online_softmax_tiled.values", online_softmax_tiled)

# %% nbgrader={"grade_id": "online_softmax_tiled_rescale", "grade": true, "points": 3}
check("lab2.online_softmax_tiled.rescale", online_softmax_tiled)

# %% [markdown]
# `traffic` now judges sectors too: neighbouring lanes must read neighbouring addresses.

# %% nbgrader={"grade_id": "online_softmax_tiled_traffic", "grade": true, "points": 2}
check("lab2.online_softmax_tiled.traffic", online_softmax_tiled)

# %% nbgrader={"grade_id": "online_softmax_tiled_safety", "grade": true, "points": 1}
check("lab2.online_softmax_tiled.safety", online_softmax_tiled)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Exercise 2's loop, with a tile in the place of an element: the new maximum now comes out of a tree in
# shared memory, the same for all threads. A thread keeps its element in a register meanwhile; `X` is
# not read again for the sum.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# For each tile: load an element or −inf; store it into `red`; maximum tree; read `red[0]`;
# barrier; rescale `d`; add `exp` of the element. After the loop: sum tree over the shares, then the
# loop that writes.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# The tiles: `for start in range(0, n, 256)`; this thread's column is `start + t`, if that is below `n`.
#
# The update is the line of exercise 2, with the same guard. The old `m` is needed in it, so `m = m_new`
# comes last.
#
# </details>

# %% [markdown]
# **If the numbers are wrong**
#
# | symptom | cause |
# |---|---|
# | wrong when the maximum moves | `d` not rescaled, rescaled after adding, or thrown away; `m` never stored |
# | wrong on loud rows | the tile's own maximum as weight, or the first tile's for all |
# | wrong when 256 does not divide n | the tail is dropped, or padded with 0 |
# | wrong when it does | `n % 256` is 0: the full last tile is lost |
# | wrong where all is negative | `m` starts at 0 or at a finite stand-in, or the padding is 0 in the maximum |
# | NaN after tiles of −inf | the guard is missing |
# | wrong everywhere | each thread has an `m` of its own, and their `d` are added |

# %% [markdown]
# **If traffic or safety fails**
#
# | symptom | cause |
# |---|---|
# | `X` three times | the terms read it again: keep `x` in a variable |
# | too many sectors | a thread handles neighbours |
# | `X` is stored to | it is used as scratch space |
# | a race on `red` | no barrier between reading `red[0]` and the next store, in this tile or the next |
# | a divergent barrier | it stands inside an `if`, or threads leave early |
# | unwritten shared memory is read | threads returned early: they must hand in −inf instead |

# %% [markdown]
# **Self-check.** Why not one pass? After the first read, `m` and `d` are known.
#
# <details><summary>Answer</summary>
#
# No output can be written before `d` is final, and `d` is final after the last element. By then the
# elements are gone from the registers, so the row is read again. Keeping the row would save that read,
# while it fits: a later lab.
#
# </details>

# %% [markdown]
# **Self-check.** What happens if the sum is updated before the maximum?
#
# <details><summary>Answer</summary>
#
# The new term is then taken against the old maximum: `exp(x − m)` with x above m. An element 200 above
# overflows to inf. The first element always does: m is −inf, and inf times the factor 0 is NaN.
#
# </details>

# %% [markdown]
# ## Exercise 4: break it
#
# A test is only as good as its rows. Here is a kernel that never rescales; you write the rows. One must
# expose it, the other must let it pass although its values differ.

# %% [markdown]
# **Rule.** A row is a function of the position: `breaking_value(i, n)` is element i of a row of n
# elements, and `forgiving_value(i, n)` likewise. They are plain Python, finite, within ±10,000. The
# check calls them for several n above 500 and hands the rows to `online_softmax_tiled` with and
# without the rescale.


# %%
def never_rescales(x, tile=256):
    """x [n] float32 -> [n]: the tiled kernel with the correction of d left out."""
    m, d = -np.inf, 0.0
    for start in range(0, x.size, tile):
        part = x[start : start + tile]
        m = max(m, part.max())
        d += np.exp(part - m).sum()
    return np.exp(x - m) / d


# %% nbgrader={"grade_id": "breaking_value", "solution": true}
def breaking_value(i, n):
    """Element i of a row of n elements on which never_rescales is wrong."""
    ### BEGIN SOLUTION
    return 20.0 if i == n - 1 else 0.0
    ### END SOLUTION


# %% nbgrader={"grade_id": "forgiving_value", "solution": true}
def forgiving_value(i, n):
    """Element i of a row of n elements, not all equal, on which never_rescales is right."""
    ### BEGIN SOLUTION
    return 20.0 if i == 0 else 0.0
    ### END SOLUTION


# %% [markdown]
# Look first: what does the model make of your rows?


# %%
def trial(value, n=1000):
    """What never_rescales makes of the row, in a sentence."""
    try:
        x = np.array([value(i, n) for i in range(n)], dtype=np.float32)
    except NotImplementedError:
        return "not written yet"
    found, right = never_rescales(x), softmax_spec(x[None])[0]
    wrong = np.count_nonzero(~(np.abs(found - right) <= 1e-5 * right + 1.2e-38))
    return f"wrong in {wrong} of {n} places; the outputs sum to {found.sum():.4f}"


print("breaking row: ", trial(breaking_value))
print("forgiving row:", trial(forgiving_value))

# %% [markdown]
# **Checks.** A row earns its point when the right kernel gets it right, and the wrong one gets it wrong
# (or, for the second, right as well).

# %% nbgrader={"grade_id": "breaking_value_answer", "grade": true, "points": 1}
check("lab2.breaking_value.answer", breaking_value)

# %% nbgrader={"grade_id": "forgiving_value_answer", "grade": true, "points": 1}
check("lab2.forgiving_value.answer", forgiving_value)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# What is left out is a factor on `d`: `e^(m − m_new)`. When is it exactly 1? When is it as far from 1 as
# you like?
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# The factor matters when a *later* tile has a larger maximum than all before it, and is 1 when no
# tile has. A row of equal values with one loud value is enough; only its position differs.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# `return ... if i == ... else ...`, with a position that exists in every row: count from 0, or from n.
#
# </details>

# %% [markdown]
# **If it fails**
#
# | symptom | cause |
# |---|---|
# | the wrong kernel gets it right | the maximum is in the first tile, or it moves too little |
# | right at one n, wrong at another | a position written as a number: the row ends before it |
# | the wrong kernel gets it wrong (second row) | a later tile holds a larger value than the first |

# %% [markdown]
# **Self-check.** Rows of ordinary random numbers: would they have shown the mistake?
#
# <details><summary>Answer</summary>
#
# Often only faintly: the largest of 256 numbers is close to the largest of 1,024, so the maximum moves
# little. A test needs rows in which it moves far and late, and that is what `rescale` sends.
#
# </details>

# %% [markdown]
# ## Exercise 5: in your words
#
# In at most 120 words: show that one multiplication corrects *all* terms that are already in `d`. And
# say why the online rule can never overflow, whatever the logits are.
#
# A person reads this: 1 point for each question.

# %% [markdown] nbgrader={"grade_id": "lab2_written", "grade": true, "solution": true, "points": 2}
# `e^(x − m)` times `e^(m − m_new)` is `e^(x − m_new)`. The factor does not depend on x, so it comes out of
# the sum: an identity, no approximation. (1 point)
#
# `m_new ≥ m` and `m_new ≥ x`: both exponents are at most 0, both exponentials at most 1, and `d` at most the
# number of elements. Terms can only underflow. (1 point)

# %% [markdown]
# ## You have
#
# * kept the state `(m, d)` and rescaled `d`
# * predicted, then counted, the sectors of lanes a row apart
# * folded a tile at a time: correct, then add
# * guarded against −inf − −inf
# * built a row that exposes a missing rescale, and one that hides it
#
# A later lesson gives each thread an `m` of its own.
