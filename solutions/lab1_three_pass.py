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
# # Lab 1: three passes
#
# You write softmax the safe way: once over the row for its maximum, once for the denominator, once
# to write. First the two reductions alone, then all three passes in one kernel. The checks also count
# the bytes that you move, because bytes are what such a kernel costs.

# %% [markdown]
# ## You will
#
# * reduce a row to one number with a block of threads, a shared buffer and barriers
# * choose the padding that a reduction needs: −inf for a maximum, 0 for a sum
# * predict the bytes of a kernel before it runs
# * write a softmax that survives logits of 100, −20,000 and −inf

# %% [markdown]
# ## Before you start
#
# Read lessons 00 (a first kernel) and 01 (three passes). **Time.** About 2 hours.
#
# On your machine: `make lab`; the README has the same without make. On Colab: open this notebook and
# run the first cell, which installs what is missing. *Runtime → Change runtime type → T4* gives a real
# GPU. Without one, the simulator runs the same code.

# %% [markdown]
# ## Points
#
# | | values | rescale | traffic | safety | answer | total |
# |---|---|---|---|---|---|---|
# | 1 `row_max` | 1 | 1 | 1 | 1 | | 4 |
# | 2 `row_sum` | 1 | 1 | 1 | 1 | | 4 |
# | 3 `three_pass_bytes` | | | | | 1 | 1 |
# | 4 `safe_softmax` | 2 | 2 | 2 | 1 | | 7 |
# | 5 in your words | | | | | 2, read by a person | 2 |

# %% [markdown]
# Each graded cell is one `check`. Its last line is what you earned; a check with several groups of
# cases gives part of its points for part of the groups. Run it as often as you like. Grading runs the
# same kinds of rows with other numbers.

# %% tags=["setup"]
# setup

# %%
THREADS = 128  # threads of a block in exercises 1 and 2
BLOCK = 256  # threads of a block in exercise 4

# %% [markdown]
# ## Exercise 1: the maximum of a row
#
# **Goal.** `row_max(X, out)`: `X` is float32 `[rows, n]`, `out` is float32 `[rows]`. Launch
# `[rows, 128]`: one block a row. Any `rows ≥ 1`, any `n ≥ 1`.
#
# **Budget.** `X` is read once, neighbouring lanes read neighbouring addresses, and `out[row]` is
# written once. About 15 lines.

# %% [markdown]
# **Picture.** First each thread keeps the largest of its own columns `t`, `t + 128`, … Then the
# results meet in a shared buffer, `red`, and one half of it is folded onto the other, again and again.
# With 8 threads:

# %%
from autograder.figures import transfer_film, tree_picture

tree_picture([3, 1, 4, 2, 8, 5, 7, 6], "max")

# %% [markdown]
# **Padding.** With n = 5, 123 of the 128 threads have no column. What they put into `red` must
# not change the answer: the *identity* of the reduction. For a maximum it is −inf. Zero is no
# identity: in a row of negative numbers it wins.

# %%
values = np.array([-3, -1, -4, -2], dtype=np.float32)
print("padded with 0:   ", max(values.max(), 0.0))
print("padded with -inf:", max(values.max(), -math.inf))

# %% [markdown]
# **Barriers.** Thread 0 reads what thread 64 wrote. Without `cuda.syncthreads()` between the two,
# thread 64 may not have written yet. So: one barrier before the tree, one after each level. All
# threads of the block must reach it, also those with nothing to fold: keep it outside the `if`.

# %% [markdown]
# **Specification.** What the kernel must give, in NumPy:


# %%
def row_max_spec(X):
    """X [rows, n] -> [rows]: the largest value of each row."""
    return X.max(axis=1)


# %% [markdown]
# **Your kernel.** The three given lines are this block's row, this thread's number and the shared
# buffer. The shape of a shared array must be a constant that the compiler can see.


# %% nbgrader={"grade_id": "row_max", "solution": true}
@cuda.jit
def row_max(X, out):
    """X [rows, n] float32, out [rows] float32; one block of THREADS threads a row."""
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    red = cuda.shared.array(THREADS, numba.float32)
    ### BEGIN SOLUTION
    m = numba.float32(-math.inf)  # the identity: a thread without a column changes nothing
    for j in range(t, X.shape[1], THREADS):
        m = max(m, X[row, j])
    red[t] = m
    cuda.syncthreads()  # every thread's own maximum is in red
    half = THREADS // 2
    while half > 0:
        if t < half:
            red[t] = max(red[t], red[t + half])
        cuda.syncthreads()  # this level is written before the next one reads it
        half //= 2
    if t == 0:
        out[row] = red[0]
    ### END SOLUTION


# %% [markdown]
# **Look.** Four rows of 1,000; row 1 holds negative numbers only. The x-ray shows the bytes of each of
# your lines. Compare its load bytes with the size of `X`: 4 · 1,000 · 4 = 16,000.

# %%
rng = np.random.default_rng(1)
X = rng.normal(size=(4, 1000)).astype(np.float32)
X[1] -= 120
out = np.full(4, np.nan, dtype=np.float32)
xray(row_max[4, 128], X, out)

# %%
print("kernel", out)  # nan: nothing written there
print("spec  ", row_max_spec(X))

# %% [markdown]
# **Checks.** `values`: ordinary rows and lengths from 1 to 1,000; `X` must stay as it was.

# %% nbgrader={"grade_id": "row_max_values", "grade": true, "points": 1}
check("lab1.row_max.values", row_max)

# %% [markdown]
# `rescale`: the loud rows. All negative, far below zero, −inf in places.

# %% nbgrader={"grade_id": "row_max_rescale", "grade": true, "points": 1}
check("lab1.row_max.rescale", row_max)

# %% [markdown]
# `traffic`: bytes, and sectors of 32 bytes, against the budget.

# %% nbgrader={"grade_id": "row_max_traffic", "grade": true, "points": 1}
check("lab1.row_max.traffic", row_max)

# %% [markdown]
# `safety`: no access outside of an array, no race, no barrier that a thread misses.

# %% nbgrader={"grade_id": "row_max_safety", "grade": true, "points": 1}
check("lab1.row_max.safety", row_max)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Two stages. In the first, no thread needs another: each walks its own columns and keeps one number in
# a register. In the second, half of the threads fold the other half's numbers onto their own, then a
# quarter, until one is left.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Start from −inf. Loop over the columns from `t` in steps of `THREADS`. Store into `red`,
# barrier. Let `half` go 64, 32, … 1: threads below `half` fold, then everybody meets at a barrier.
# Thread 0 writes `out[row]`.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# The loop: `for column in range(t, X.shape[1], THREADS)`.
#
# One level: `if t < half:` and inside it `red[t] = max(red[t + half], red[t])`. The barrier
# comes after it, one step to the left, so that all threads reach it. Then halve `half`.
#
# </details>

# %% [markdown]
# **If the numbers are wrong**
#
# | symptom | cause |
# |---|---|
# | 0 where all values are negative | the start, or the padding, is 0 |
# | wrong far below zero | a finite stand-in for −inf |
# | wrong when 128 does not divide n | `n // 128` drops the tail |
# | every row answers for row 0, or only `out[0]` is written | `cuda.blockIdx.x` is not used |
# | depends on the order of threads | a barrier is missing |

# %% [markdown]
# **If traffic or safety fails**
#
# | symptom | cause |
# |---|---|
# | twice the bytes | `X` is read again: keep the element in a variable |
# | too many sectors | a thread reads neighbours, so lanes lie far apart |
# | a read past the end | the last tile has no guard, or a thread starts at `X[row, t]` |
# | a divergent barrier | it stands inside `if t < half` |

# %% [markdown]
# **Self-check.** Which two things change to make this `row_min`?
#
# <details><summary>Answer</summary>
#
# `max` becomes `min`, in the loop and in the tree, and the identity becomes +inf. Every barrier and
# every index stays.
#
# </details>

# %% [markdown]
# ## Exercise 2: the sum of a row
#
# **Goal.** `row_sum(X, out)`, launched `[rows, 128]` like exercise 1.
#
# **Budget.** `X` once, `out[row]` once. The same tree, another operation, another identity. About 15
# lines, nearly all of them yours already.

# %% [markdown]
# **Picture.** The same 8 numbers, added. **Predict** the second line before you run it.

# %%
tree_picture([3, 1, 4, 2, 8, 5, 7, 6], "sum")

# %% [markdown]
# **Specification.** Summed in float64, and by other code than yours: an oracle that makes the same
# rounding errors as you do cannot see them.


# %%
def row_sum_spec(X):
    """X [rows, n] float32 -> [rows] float64: the sum of each row."""
    return X.astype(np.float64).sum(axis=1)


# %% [markdown]
# **How near is near enough?** A float32 sum rounds after every addition, by at most 2⁻²⁴ of the
# result. Errors of both signs mostly cancel, so they grow like √n, not like n. The checks allow
# 4 · 2⁻²³ · √n of the true value, and never less than 10⁻⁵.

# %%
x = np.random.default_rng(2).random((100, 1000), dtype=np.float32)  # 100 rows, for the worst of them
exact = x.astype(np.float64).sum(axis=1)
one_by_one = np.cumsum(x, axis=1, dtype=np.float32)[:, -1]
print(f"worst error, one after the other: {(abs(one_by_one - exact) / exact).max():.1e} of the sum")
print(f"worst error, in pairs:            {(abs(x.sum(axis=1) - exact) / exact).max():.1e}")
print(f"allowed:                          {max(1e-5, 4 * 2**-23 * math.sqrt(1000)):.1e}")

# %% [markdown]
# **Your kernel.** This time you make `red` yourself. Start the sum from `numba.float32(0.0)`: a
# plain `0.0` is a float64 on a GPU, and the whole sum would be done in float64.


# %% nbgrader={"grade_id": "row_sum", "solution": true}
@cuda.jit
def row_sum(X, out):
    """X [rows, n] float32, out [rows] float32; one block of THREADS threads a row."""
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    ### BEGIN SOLUTION
    red = cuda.shared.array(THREADS, numba.float32)
    total = numba.float32(0.0)  # the identity of a sum
    for j in range(t, X.shape[1], THREADS):
        total += X[row, j]
    red[t] = total
    cuda.syncthreads()  # every thread's own sum is in red
    half = THREADS // 2
    while half > 0:
        if t < half:
            red[t] += red[t + half]
        cuda.syncthreads()  # this level is written before the next one reads it
        half //= 2
    if t == 0:
        out[row] = red[0]
    ### END SOLUTION


# %% [markdown]
# **Look.**

# %%
X = rng.random(size=(4, 1000), dtype=np.float32)
out = np.full(4, np.nan, dtype=np.float32)
xray(row_sum[4, 128], X, out)

# %%
print("kernel", out)
print("spec  ", row_sum_spec(X))

# %% [markdown]
# **Checks.** The same four.

# %% nbgrader={"grade_id": "row_sum_values", "grade": true, "points": 1}
check("lab1.row_sum.values", row_sum)

# %% nbgrader={"grade_id": "row_sum_rescale", "grade": true, "points": 1}
check("lab1.row_sum.rescale", row_sum)

# %% nbgrader={"grade_id": "row_sum_traffic", "grade": true, "points": 1}
check("lab1.row_sum.traffic", row_sum)

# %% nbgrader={"grade_id": "row_sum_safety", "grade": true, "points": 1}
check("lab1.row_sum.safety", row_sum)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Take `row_max`. Ask at each line: does it know about the maximum, or only about the row, the threads
# and the tree? Only three lines know.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# The start value, the line in the column loop, and the fold in the tree change. A thread without a
# column now contributes 0.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# The start: `numba.float32(0.0)`. The fold, for threads below `half`:
# `red[t] = red[t] + red[t + half]`. The barrier stays after it, outside the `if`.
#
# </details>

# %% [markdown]
# **If the numbers are wrong**
#
# | symptom | cause |
# |---|---|
# | −inf on ragged rows | the padding of a maximum |
# | wrong when 128 does not divide n | `n // 128` drops the tail |
# | about half of the sum | the tree stops one step early: `while half > 0` |
# | a little off; inf when large | a float16 sum |
# | depends on the order of threads | a barrier is missing |

# %% [markdown]
# **If traffic or safety fails**
#
# | symptom | cause |
# |---|---|
# | many loads and stores of `out` | every thread adds into global memory |
# | `X` changed | it is used as scratch space |
# | too many sectors | a thread reads neighbours |
# | unwritten shared memory is read | a second stage reads more places than there are warps |
# | a divergent barrier | it stands inside the `if` |

# %% [markdown]
# **Self-check.** Why not one padding value for both reductions?
#
# <details><summary>Answer</summary>
#
# Because a value that changes nothing depends on the operation. −inf in a sum makes the sum −inf. 0 in
# a maximum beats every negative number, and the result still looks plausible: that one is silent.
#
# </details>

# %% [markdown]
# ## Exercise 3: predict the bytes
#
# **Goal.** Before you write the softmax, say what it will cost. `three_pass_bytes(rows, n)`: the bytes
# that a three-pass softmax loads from global memory plus the bytes that it stores, for `X` and `Y` of
# float32 `[rows, n]`. Shared memory does not count.

# %% [markdown]
# **Picture.** A row of two tiles, 3 1 4 2 and 8 5 7 6, as a film. Each frame is one tile that crosses
# global memory.

# %%
transfer_film(kind="three_pass")

# %% [markdown]
# **Your formula.** A function of two whole numbers. Only arithmetic is allowed in it.


# %% nbgrader={"grade_id": "predict_bytes", "solution": true}
def three_pass_bytes(rows, n):
    """Bytes loaded plus bytes stored by three-pass softmax on X, Y [rows, n] float32."""
    ### BEGIN SOLUTION
    loads = 3 * rows * n
    stores = rows * n
    return 4 * (loads + stores)
    ### END SOLUTION


# %% nbgrader={"grade_id": "predict_bytes_answer", "grade": true, "points": 1}
check("lab1.predict_bytes.answer", three_pass_bytes)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Count the transfers of the film per element: how often is it fetched, how often stored?
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Elements, times transfers of one element, times bytes of one float32.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the line</summary>
#
# There are `rows * n` elements of 4 bytes. In the film, 8 transfers move 2 tiles: 4 transfers an
# element.
#
# </details>

# %% [markdown]
# **If it fails**
#
# | symptom | cause |
# |---|---|
# | a quarter of the answer | a factor 4 is missing: 4 bytes of a float32, or 4 transfers (3 reads, 1 write) |
# | three quarters of it | the stores, or one read of three, are not counted |
# | half of it | one fetch an element: each pass fetches the row again |
# | twice the answer | float32 has 4 bytes, not 8 |

# %% [markdown]
# **Self-check.** Would 512 threads a block change the answer?
#
# <details><summary>Answer</summary>
#
# No. Every element is still fetched once a pass. More threads share the same bytes among more hands.
#
# </details>

# %% [markdown]
# ## Exercise 4: safe softmax
#
# **Goal.** `safe_softmax(X, Y)`: `Y[row, j]` is `exp(X[row, j] − m) / d`, where `m` is the row's
# maximum and `d` the sum of all `exp(X[row, i] − m)`. Launch `[rows, 256]`.
#
# **Budget.** `X` three times, `Y` once, coalesced. About 30 lines.

# %% [markdown]
# **Four numbers.** 100 is an ordinary logit. But `exp` overflows float32 above 88.7. Subtracting the
# same number everywhere leaves every ratio as it was; subtracting the maximum makes the largest
# exponent 0.

# %%
x = np.array([100, 101, 50, 0], dtype=np.float32)
with np.errstate(over="ignore", invalid="ignore"):
    literal = np.exp(x) / np.exp(x).sum()
terms = np.exp(x - x.max())
print("literally:      ", literal)
print("maximum first:  ", terms / terms.sum())
print("exp overflows above", round(math.log(np.finfo(np.float32).max), 1))

# %% [markdown]
# **Specification.**


# %%
def softmax_spec(X):
    """X [rows, n] float32 -> [rows, n] float64: safe softmax of each row."""
    wide = X.astype(np.float64)
    terms = np.exp(wide - wide.max(axis=1, keepdims=True))
    return terms / terms.sum(axis=1, keepdims=True)


# %% [markdown]
# **One buffer, two reductions.** After the first tree every thread reads `m` from `red[0]`. A fast
# thread may then run on and overwrite it with its sum, while a slow one has not read `m` yet. So one
# barrier more: after reading `m`, before `red` is used again.

# %% [markdown]
# **Your kernel.** Exercise 1, exercise 2, and the write.


# %% nbgrader={"grade_id": "safe_softmax", "solution": true}
@cuda.jit
def safe_softmax(X, Y):
    """X, Y [rows, n] float32; one block of BLOCK threads a row; X is read three times."""
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    ### BEGIN SOLUTION
    n = X.shape[1]
    red = cuda.shared.array(BLOCK, numba.float32)
    m = numba.float32(-math.inf)
    for j in range(t, n, BLOCK):  # pass 1: the maximum
        m = max(m, X[row, j])
    red[t] = m
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            red[t] = max(red[t], red[t + half])
        cuda.syncthreads()
        half //= 2
    m = red[0]
    cuda.syncthreads()  # everybody has read m before red is used again
    d = numba.float32(0.0)
    for j in range(t, n, BLOCK):  # pass 2: the denominator
        d += math.exp(X[row, j] - m)
    red[t] = d
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            red[t] += red[t + half]
        cuda.syncthreads()
        half //= 2
    d = red[0]
    for j in range(t, n, BLOCK):  # pass 3: the write
        Y[row, j] = math.exp(X[row, j] - m) / d
    ### END SOLUTION


# %% [markdown]
# **Look.** Four rows of 1,024, with a loud element in row 1. Load bytes plus store bytes should be
# what your formula gives for `(4, 1024)`.

# %%
X = rng.normal(size=(4, 1024)).astype(np.float32)
X[1, 1000] = 200
Y = np.full_like(X, np.nan)
xray(safe_softmax[4, 256], X, Y)

# %%
print("largest difference from the spec:", np.abs(Y - softmax_spec(X)).max())
print("sum of each row:", Y.sum(axis=1))

# %% [markdown]
# **Checks.** `values`: ordinary rows, ragged lengths, `X` unchanged, every element of `Y` written.

# %% nbgrader={"grade_id": "safe_softmax_values", "grade": true, "points": 2}
check("lab1.safe_softmax.values", safe_softmax)

# %% [markdown]
# `rescale`: the loud rows. Loud last, loud first, a rising ramp, far below zero, −inf in places, and
# one NaN, which must reach the output.

# %% nbgrader={"grade_id": "safe_softmax_rescale", "grade": true, "points": 2}
check("lab1.safe_softmax.rescale", safe_softmax)

# %% nbgrader={"grade_id": "safe_softmax_traffic", "grade": true, "points": 2}
check("lab1.safe_softmax.traffic", safe_softmax)

# %% nbgrader={"grade_id": "safe_softmax_safety", "grade": true, "points": 1}
check("lab1.safe_softmax.safety", safe_softmax)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# You have both reductions. What is new: each of them ends with a number that *all* threads need, not
# only thread 0. After the last barrier of a tree, everybody may read `red[0]`.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Column loop with `max`, tree, read `m`, barrier. Column loop that adds the exponentials, tree, read
# `d`. Column loop that writes. Each column loop starts at `t` and steps by `BLOCK`.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# Between the reductions: `m = red[0]`, then `cuda.syncthreads()`.
#
# A term of the denominator: `math.exp(X[row, column] - m)`. The write divides the same expression by
# `d`. `math.exp` of a float32 is a float32.
#
# </details>

# %% [markdown]
# **If the numbers are wrong**
#
# | symptom | cause |
# |---|---|
# | NaN on loud rows | no maximum is subtracted, or the first tile's for all |
# | wrong where all is negative | the maximum starts at 0, or the padding is 0 |
# | wrong far below zero | a finite stand-in for −inf |
# | rows do not sum to 1 | one thread's own maximum or sum; a dropped tail; padding in the sum; `m` subtracted in one pass only |
# | a row with NaN looks healthy | `x > -inf` skips it: ask `x != -inf` |

# %% [markdown]
# **If traffic or safety fails**
#
# | symptom | cause |
# |---|---|
# | `Y` is loaded | the terms are kept in `Y`: compute them again from `X` |
# | `X` is stored to | it is used as scratch space |
# | too many sectors | a thread reads neighbours |
# | a race on `red` | no barrier after `m = red[0]`, or inside the tree |
# | a divergent barrier | it stands inside the `if` |

# %% [markdown]
# **Self-check.** In the literal softmax of 100, 101, 50, 0: which operation makes the first inf, and
# which makes the NaN?
#
# <details><summary>Answer</summary>
#
# `exp(100)` is the first inf; the sum is inf as well. The division inf / inf makes the NaN. The small
# logits give finite / inf = 0: wrong, and it looks harmless.
#
# </details>

# %% [markdown]
# **Self-check.** Which barrier protects what?
#
# <details><summary>Answer</summary>
#
# Before a tree: the stores into `red`, from being read too early. After each level: that level's
# results, likewise. After `m = red[0]`: the reads of `m`, from the next store.
#
# </details>

# %% [markdown]
# ## Exercise 5: in your words
#
# In at most 120 words: why can pass 2, as you wrote it, not start before pass 1 has ended? And what
# would have to happen to a half-finished `d` if a larger maximum turned up on the way?
#
# A person reads this: 1 point for each question.

# %% [markdown] nbgrader={"grade_id": "lab1_written", "grade": true, "solution": true, "points": 2}
# Every term of `d` is `exp(x − m)` with the final `m`, and the row's last element can still be the
# maximum. (1 point)
#
# If the maximum moves from `m` to `m_new`, each term so far is too large by the same factor. Multiplying
# `d` by `e^(m − m_new)` corrects all of them at once. (1 point)

# %% [markdown]
# ## You have
#
# * reduced a row to one number with a block of threads, a shared buffer and barriers
# * chosen the padding that a reduction needs
# * predicted the bytes of a kernel, then counted them
# * written a softmax that survives logits of 100, −20,000 and −inf
#
# Next: lesson 02, and a third of the reads fewer.
