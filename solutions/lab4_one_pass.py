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
# # Lab 4: one pass
#
# Online softmax reads the row twice: once for `(m, d)`, once to write. The second read exists only
# because the values are gone by then. You now **keep the row** on the chip: in shared memory, then in
# registers. One read, one write, and nothing is below that.

# %% [markdown]
# ## You will
#
# * predict the sectors of one read and one write, then count them
# * keep a row of up to 4,096 numbers in shared memory
# * keep a row of up to 8,192 numbers in the registers of 256 threads
# * choose the kernel that fits a row
# * say why one read is impossible without a place for the row

# %% [markdown]
# ## Before you start
#
# Read lesson 04 (one pass) and finish lab 3. **Time.** About 2 hours.
#
# On your machine: `make lab`; the README has the same without make. On Colab: open this notebook and
# run the first cell, which installs what is missing. *Runtime → Change runtime type → T4* gives a real
# GPU. Without one, the simulator runs the same code.

# %% [markdown]
# ## Points
#
# | | values | rescale | traffic | safety | answer | total |
# |---|---|---|---|---|---|---|
# | 1 `one_pass_sectors` | | | | | 1 | 1 |
# | 2 `softmax_row_cache` | 2 | 2 | 2 | 1 | | 7 |
# | 3 `softmax_register_cache` | 2 | 2 | 2 | 1 | | 7 |
# | 4 `choose_softmax` | | | | | 2 | 2 |
# | 5 in your words | | | | | 2, read by a person | 2 |

# %% [markdown]
# Each graded cell is one `check`. Its last line is what you earned; a check with several groups of
# cases gives part of its points for part of the groups. Run it as often as you like. Grading runs the
# same kinds of rows with other numbers.

# %% tags=["setup"]
# setup

# %% [markdown]
# ## The rule
#
# No output can be written before `d` is final, and `d` is final after the last element. So the values
# are needed **twice**, whatever the arithmetic. Read them twice, or keep them.
#
# | keep them in | room for | who reads a value |
# |---|---|---|
# | shared memory | 4,096 floats here | every thread of the block |
# | registers | 256 threads × 32 = 8,192 floats | the thread that loaded it |

# %% [markdown]
# **The metric.** Traffic is graded in **sectors**: the 32-byte pieces that the kernel's own loads and
# stores ask for. Sectors are blind to caches. A second read that the L2 cache answers costs little time
# today, and as many sectors as ever.

# %% [markdown]
# ## Exercise 1: predict the sectors
#
# **Goal.** `one_pass_sectors(rows, n)`: how many sectors does a kernel move, loads and stores together,
# that reads `X` once and writes `Y` once? Both are float32 `[rows, n]`, neighbouring lanes touch
# neighbours, and `n` is a multiple of 8.

# %% [markdown]
# **Picture.** The film's row, 3 1 4 2 8 5 7 6. Each frame is a tile that crosses global memory. Three
# passes took 8 transfers, online softmax takes these 6. **Predict**: which of them does a kernel drop
# that keeps the row?

# %%
from autograder.figures import sector_map, transfer_film

transfer_film(kind="online", columns=3)

# %% [markdown]
# **Your formula.** A function of two whole numbers. Only arithmetic is allowed in it.


# %% nbgrader={"grade_id": "one_pass_sectors", "solution": true}
def one_pass_sectors(rows, n):
    """Sectors of one read of X [rows, n] and one write of Y [rows, n]; 8 divides n."""
    ### BEGIN SOLUTION
    return 2 * rows * n // 8  # eight floats to a sector, once in and once out
    ### END SOLUTION


# %% nbgrader={"grade_id": "one_pass_sectors_answer", "grade": true, "points": 1}
check("lab4.predict_sectors.answer", one_pass_sectors)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# When the lanes of a warp read neighbours, no sector is fetched for one number only. How many floats
# share 32 bytes?
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Sectors of one row in one direction; times the rows; times the directions.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the line</summary>
#
# A row of `n` floats is `n / 8` sectors. There are `rows` of them, once in and once out.
#
# </details>

# %% [markdown]
# **If it fails**
#
# | symptom | cause |
# |---|---|
# | half of it | loads or stores alone |
# | three halves, or double | two or three reads: the kernels of labs 3 and 1 |
# | a quarter of it | requests: a warp's request is four sectors |
# | eight times too much | floats counted, not sectors |

# %% [markdown]
# **Self-check.** Three passes move 4 transfers of the row, online 3, one pass 2. Which of the steps
# saves the larger share?
#
# <details><summary>Answer</summary>
#
# 4 → 3 is a quarter, 3 → 2 is a third. From three passes to one, half of the traffic is gone. And 2 is
# the floor: the input must come in, the output must go out.
#
# </details>

# %% [markdown]
# With the row kept, this is the film: 4 transfers.

# %%
transfer_film(kind="one_pass", columns=4)

# %% [markdown]
# ## Given: two reductions
#
# You have written these three times. They take a thread's value and give every thread the block's.
# `red` is a shared array of 8 floats, one a warp. Use them, or your own.


# %%
@cuda.jit(device=True)
def block_max(value, red):
    """The largest value of 256 threads, for each of them. red: shared float32 [8], not in use elsewhere."""
    t = cuda.threadIdx.x
    offset = 16
    while offset > 0:
        value = max(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, offset))
        offset //= 2
    if t % 32 == 0:
        red[t // 32] = value
    cuda.syncthreads()  # all eight are there before anybody reads
    for w in range(8):
        value = max(value, red[w])
    return value


# %%
@cuda.jit(device=True)
def block_sum(value, red):
    """The sum over 256 threads, for each of them. red: shared float32 [8], not in use elsewhere."""
    t = cuda.threadIdx.x
    offset = 16
    while offset > 0:
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, offset)
        offset //= 2
    if t % 32 == 0:
        red[t // 32] = value
    cuda.syncthreads()
    total = numba.float32(0.0)
    for w in range(8):
        total += red[w]
    return total


# %% [markdown]
# **Why an array for each call.** `block_sum` may begin while a slow thread still reads the maximum out
# of `red`. With one array for both, a barrier has to stand between the two calls. With two arrays, none
# is needed.

# %% [markdown]
# ## Exercise 2: the row in shared memory
#
# **Goal.** `softmax_row_cache(X, Y)`, float32 `[rows, n]`, n at most 4,096. Launch `[rows, 256]`: a
# block has a row.
#
# **Budget.** `X` once, `Y` once, in the fewest sectors. About 20 lines.

# %% [markdown]
# **Four numbers.** x = 3 1 4 2, two threads. Thread 0 keeps columns 0 and 2, thread 1 columns 1 and 3.
#
# | | cache[0] | cache[1] | cache[2] | cache[3] | all threads know |
# |---|---|---|---|---|---|
# | filled | 3 | 1 | 4 | 2 | m = 4 |
# | terms | e^(−1) | e^(−3) | e^0 | e^(−2) | d = 1.5530 |
# | written | 0.2369 | 0.0321 | 0.6439 | 0.0871 | |

# %% [markdown]
# **Specification.** With the row at hand, the maximum and the sum are two walks over the cache, not
# over `X`. Each exponential is taken once and kept.


# %%
def one_pass_spec(X):
    """X [rows, n] float32 -> [rows, n] float64, the steps of the kernel."""
    Y = np.empty(X.shape)
    for row in range(X.shape[0]):
        cache = X[row].astype(np.float64)  # the only read of X
        cache = np.exp(cache - cache.max())
        Y[row] = cache / cache.sum()
    return Y


# %% [markdown]
# **Sizes are constants.** A shared array's shape is known to the compiler: write 4096, not `n`. 4,096
# floats are 16 KiB of the 48 KiB that a block may have. A shorter row uses its beginning; nobody may
# read the rest.

# %% [markdown]
# **Your kernel.** Which places of the cache does a thread touch? If only its own, no barrier is needed
# for the cache. If also others', one is.


# %% nbgrader={"grade_id": "softmax_row_cache", "solution": true}
@cuda.jit
def softmax_row_cache(X, Y):
    """X, Y [rows, n] float32, n <= 4096; one block of 256 threads a row; X is read once."""
    ### BEGIN SOLUTION
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    cache = cuda.shared.array(4096, numba.float32)
    maxima = cuda.shared.array(8, numba.float32)
    sums = cuda.shared.array(8, numba.float32)
    m = numba.float32(-math.inf)
    for j in range(t, n, 256):
        x = X[row, j]
        cache[j] = x  # only this thread will read it: no barrier
        m = max(m, x)
    m = block_max(m, maxima)
    d = numba.float32(0.0)
    for j in range(t, n, 256):
        term = math.exp(cache[j] - m)
        cache[j] = term  # the exponential is taken once
        d += term
    d = block_sum(d, sums)
    for j in range(t, n, 256):
        Y[row, j] = cache[j] / d
    ### END SOLUTION


# %% [markdown]
# **Look.** Four rows of 1,000. Compare the sectors of the x-ray with your formula: loads and stores
# together.

# %%
rng = np.random.default_rng(4)
X = rng.normal(size=(4, 1000)).astype(np.float32)
X[1, 990] = 20
Y = np.full_like(X, np.nan)
xray(softmax_row_cache[4, 256], X, Y)

# %%
print("largest difference from the specification:", np.abs(Y - one_pass_spec(X)).max())
try:
    print("your formula for (4, 1000):", one_pass_sectors(4, 1000), "sectors")
except NotImplementedError:
    print("your formula is not written yet")

# %% [markdown]
# **Checks.** `values`: ordinary rows, ragged lengths, and the longest: 4,095 and 4,096.

# %% nbgrader={"grade_id": "softmax_row_cache_values", "grade": true, "points": 2}
check("lab4.softmax_row_cache.values", softmax_row_cache)

# %% [markdown]
# `rescale`: the loud rows of labs 2 and 3. A kept row does not make them easier.

# %% nbgrader={"grade_id": "softmax_row_cache_rescale", "grade": true, "points": 2}
check("lab4.softmax_row_cache.rescale", softmax_row_cache)

# %% [markdown]
# `traffic`: one read, one write, and not a sector more than the bytes need.

# %% nbgrader={"grade_id": "softmax_row_cache_traffic", "grade": true, "points": 2}
check("lab4.softmax_row_cache.traffic", softmax_row_cache)

# %% nbgrader={"grade_id": "softmax_row_cache_safety", "grade": true, "points": 1}
check("lab4.softmax_row_cache.safety", softmax_row_cache)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Lab 1's safe softmax, with `X[row, j]` read once: the first loop also stores each value into the
# cache, and the later loops take it from there.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Loop 1: load x, keep it at its column, maximum. `block_max`. Loop 2: exponential of what is kept, keep
# that instead, sum. `block_sum`. Loop 3: divide and write. All three loops walk the same columns: t, t
# + 256, …
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# `cache = cuda.shared.array(4096, numba.float32)`, and two of 8 floats for the reductions. A loop is
# `for j in range(t, n, 256)`. The column is the place: `cache[j]`.
#
# </details>

# %% [markdown]
# **If the numbers are wrong**
#
# | symptom | cause |
# |---|---|
# | only the last tile is right | stored at `cache[t]`: every tile overwrites the one before |
# | wrong from 256 columns on | stored at one place, looked up at another |
# | NaN | a part of the cache is read that nobody filled, or no maximum |
# | wrong where 256 does not divide n | the padding is 0, not −inf |
# | off in the fourth digit | the cache is float16 |
# | all outputs nearly equal | `exp` is taken of the terms once more |
# | wrong when the maximum moves late | terms kept against an old maximum |

# %% [markdown]
# **If traffic or safety fails**
#
# | symptom | cause |
# |---|---|
# | `X` twice | the terms or the outputs are computed from `X`, not from the cache |
# | `Y` is loaded, or stored twice | `Y` is used as the cache |
# | `X` is stored to | `X` is used as the cache |
# | too many sectors | a thread loads neighbours |
# | out of range | the cache is shorter than 4,096 |
# | a race on the cache | a thread reads what another stored: a barrier |
# | a race on `red` | one array for both reductions |

# %% [markdown]
# **Self-check.** This kernel needs no online recurrence. Why, and what would the recurrence save here?
#
# <details><summary>Answer</summary>
#
# The recurrence saved a *read*: it found m and d in one walk over X. With the row kept, a second walk
# costs no traffic. It would save one of the two block reductions, and cost more exponentials.
# Arithmetic, not traffic.
#
# </details>

# %% [markdown]
# ## Exercise 3: the row in registers
#
# **Goal.** `softmax_register_cache(X, Y)`, the same, for n up to 8,192. Each thread keeps up to 32
# values in `cuda.local.array(32, numba.float32)`.
#
# **Budget.** `X` once, `Y` once, in the fewest sectors. About 25 lines.

# %% [markdown]
# **Picture.** Slot k of thread t holds column t + 256·k. In one request the lanes of a warp all fill
# the same slot, so they must read neighbours. This is the first request:

# %%
sector_map(range(32), title="Slot 0 of warp 0: columns 0 to 31")

# %% [markdown]
# **Predict.** Another layout: each thread keeps four neighbours, columns 4·t to 4·t + 3, and loads them
# one by one. How many sectors does *its* first request touch? Then run the cell.

# %%
sector_map(range(0, 128, 4), title="Four neighbours a thread, one by one: the first request")

# %% [markdown]
# **Constants, once more.** A register has no address: `slots[k]` can be a register only where the
# compiler knows k. In `for k in range(32)` it does, because it writes the loop out 32 times. In
# `range(n // 256)` it does not, and the array goes to local memory: global memory in disguise.

# %% [markdown]
# **What a slot holds past the end of the row** is up to you: −inf, which changes neither the maximum
# nor the sum, or nothing, and then nobody may read it. A slot that was never written holds whatever was
# there.

# %% [markdown]
# **Specification.** `one_pass_spec` again, and here is the layout: row `k`, column `t` of this table is
# slot k of thread t.


# %%
def slots_spec(x, threads=256, slots=32):
    """x [n] float32 -> [slots, threads]: what each thread keeps, -inf where the row has no column."""
    table = np.full(slots * threads, -np.inf)
    table[: x.size] = x
    return table.reshape(slots, threads)


print(slots_spec(np.array([3, 1, 4, 2, 8, 5, 7, 6]), threads=4, slots=3))

# %% [markdown]
# **Your kernel.** The limit 32 stands in the loops, not in the length of the row: every thread goes
# through all 32 slots.


# %% nbgrader={"grade_id": "softmax_register_cache", "solution": true}
@cuda.jit
def softmax_register_cache(X, Y):
    """X, Y [rows, n] float32, n <= 8192; one block of 256 threads a row; X is read once."""
    ### BEGIN SOLUTION
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    slots = cuda.local.array(32, numba.float32)
    maxima = cuda.shared.array(8, numba.float32)
    sums = cuda.shared.array(8, numba.float32)
    m = numba.float32(-math.inf)
    for k in range(32):  # a constant: the compiler writes it out, and each slot is a register
        x = numba.float32(-math.inf)  # past the end of the row: the identity
        if t + 256 * k < n:
            x = X[row, t + 256 * k]
        slots[k] = x
        m = max(m, x)
    m = block_max(m, maxima)
    d = numba.float32(0.0)
    for k in range(32):
        term = math.exp(slots[k] - m)  # exp(-inf) = 0 in an empty slot
        slots[k] = term
        d += term
    d = block_sum(d, sums)
    for k in range(32):
        if t + 256 * k < n:
            Y[row, t + 256 * k] = slots[k] / d
    ### END SOLUTION


# %% [markdown]
# **Look.** The same rows: the sectors must be the same as in exercise 2. The lines of the ledger say
# which array is read where.

# %%
Y = np.full_like(X, np.nan)
xray(softmax_register_cache[4, 256], X, Y)

# %%
print("largest difference from the specification:", np.abs(Y - one_pass_spec(X)).max())

# %% [markdown]
# **Checks.** The same four, with rows of 8,191 and 8,192.

# %% nbgrader={"grade_id": "softmax_register_cache_values", "grade": true, "points": 2}
check("lab4.softmax_register_cache.values", softmax_register_cache)

# %% nbgrader={"grade_id": "softmax_register_cache_rescale", "grade": true, "points": 2}
check("lab4.softmax_register_cache.rescale", softmax_register_cache)

# %% nbgrader={"grade_id": "softmax_register_cache_traffic", "grade": true, "points": 2}
check("lab4.softmax_register_cache.traffic", softmax_register_cache)

# %% nbgrader={"grade_id": "softmax_register_cache_safety", "grade": true, "points": 1}
check("lab4.softmax_register_cache.safety", softmax_register_cache)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Exercise 2 with another place to keep: where `cache[j]` stood, `slots[k]` stands, and j is t + 256·k.
# A slot belongs to its thread, so no barrier can be missing on it.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Loop over 32 slots: −inf; a load if the column exists; keep; maximum. `block_max`. Loop over 32 slots:
# exponential, keep, sum. `block_sum`. Loop over 32 slots: if the column exists, divide and write.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# `slots = cuda.local.array(32, numba.float32)`; the loop is `for k in range(32)`, the guard `if t + 256
# * k < n`. Start each slot from `numba.float32(-math.inf)`.
#
# </details>

# %% [markdown]
# **If the numbers are wrong**
#
# | symptom | cause |
# |---|---|
# | wrong where 256 does not divide n | empty slots hold 0, or nothing |
# | wrong from 256 columns on | the slot number does not move |
# | wrong beyond 4,096 columns | 16 slots, or a loop over 16 |
# | wrong in short all-negative rows | an empty slot counts as 0 in the maximum |
# | all threads disagree | `cuda.shared.array`: one set of slots for all of them |
# | outputs in another order | read in one layout, written in another |

# %% [markdown]
# **If traffic or safety fails**
#
# | symptom | cause |
# |---|---|
# | `X` twice | the terms or the outputs are computed from `X` |
# | four times the sectors | four neighbours a thread, loaded one by one |
# | slots out of range | indexed by the column, or too few of them |
# | slots read before they are written | a loop over all 32 after a guarded fill |
# | a race on the slots | they are in shared memory |

# %% [markdown]
# **Self-check.** Nothing in the checks stops you from writing `for k in range((n + 255) // 256)`. What
# would a GPU do with it?
#
# <details><summary>Answer</summary>
#
# Give right results, slower: k is not known to the compiler, so the slots go to local memory, and every
# use of a slot is a load or a store that can leave the chip. Sectors of X and Y stay the same; lesson
# 04 shows the compiler's report.
#
# </details>

# %% [markdown]
# ## Exercise 4: choose
#
# **Goal.** `choose_softmax(n)` gives `"register_cache"` for a row that the registers of exercise 3
# hold, and `"warp"`, the two-pass kernel of lab 3, for every longer one.


# %% nbgrader={"grade_id": "choose_softmax", "solution": true}
def choose_softmax(n):
    """The kernel for rows of n floats: "register_cache" or "warp"."""
    ### BEGIN SOLUTION
    return "register_cache" if n <= 256 * 32 else "warp"
    ### END SOLUTION


# %% nbgrader={"grade_id": "choose_softmax_answer", "grade": true, "points": 2}
check("lab4.choose_softmax.answer", choose_softmax)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# A block has 256 threads, a thread 32 slots. How many values is that?
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# One comparison. Ask yourself on which side the longest row that fits must fall.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the line</summary>
#
# The limit is `256 * 32`, and a row of exactly that length fits: `<=`.
#
# </details>

# %% [markdown]
# **If it fails**
#
# | symptom | cause |
# |---|---|
# | wrong for 8,192 | `<` where `<=` belongs |
# | wrong for 8,193 | the limit is one too high |
# | wrong for 4,097 | the limit of the shared cache |
# | wrong for long rows | always the register cache |

# %% [markdown]
# **Self-check.** 128 threads of 32 slots hold 4,096. What else could a chooser look at, besides n?
#
# <details><summary>Answer</summary>
#
# The number of rows: few rows leave most of the card idle, and then a long row may deserve several
# blocks. The threads a block: more hold longer rows, but fewer such blocks run at a time. And n modulo
# 4, for 16-byte loads.
#
# </details>

# %% [markdown]
# ## Exercise 5: in your words
#
# In at most 120 words. Why can no kernel read a row of *any* length only once, although online softmax
# finds m and d in one pass? And: kernel A is faster than B with the same sectors. Did A remove traffic?
# What else may it be?
#
# A person reads this, 1 point each.

# %% [markdown] nbgrader={"grade_id": "lab4_written", "grade": true, "solution": true, "points": 2}
# Every output divides by the final d, and the last element can still change d. So no output may be
# written before the whole row has been read, and writing needs the values again: they come from a
# second read, or from a place on the chip, whose size is fixed while n is not. (1 point)
#
# No: sectors are the traffic that the kernel asks for, and they are equal. A may do less arithmetic,
# wait less, issue fewer requests, or hit a cache more often. Sectors cannot tell; a profiler's time,
# request and cache counts can. (1 point)

# %% [markdown]
# ## You have
#
# * predicted 2 transfers of the row, and counted them
# * kept a row in shared memory, and known when it needs a barrier
# * kept a row in registers, with constant indices
# * chosen between one pass and two
# * said why the row must be kept, or read again
#
# Lab 5 puts the online state inside attention.
