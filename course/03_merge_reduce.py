# %% [markdown]
# # 03 · Merge reduce
#
# **Question.** In lesson 02 one walker folded the whole row. A block has 256 threads. Let each of them fold
# a share of its own: then there are 256 states (m, d), each with its own maximum. How do they become one?

# %% [markdown]
# **You will**
#
# - merge two states by hand, and derive the rule and its three laws;
# - run a tree of pairs in shared memory, then trade registers between lanes;
# - measure what rounding does to a rescale;
# - load 16 bytes at a time, and let few blocks do many rows;
# - use the state beyond softmax.

# %% tags=["setup"]
# setup

# %% [markdown]
# ## By hand: two halves of the film
#
# Anna folds 3 1 4 2 and Ben folds 8 5 7 6. Lesson 02 found both states:
#
# | | m | d |
# |---|---|---|
# | Anna | 4 | 1.5530 |
# | Ben | 8 | 1.5530 |
# | together | ? | ? |

# %% [markdown]
# **Predict.** You know the truth from lesson 02: the whole row has m = 8, d = 1.5814. Which of the two d
# must change before they are added, and by which factor?
#
# <details><summary>Answer</summary>
#
# Anna's. Her terms stand against 4, and the row's maximum is 8: her d times e^(4−8) = 0.0183 is
# 0.0284. Ben's d already stands against 8: his factor is 1. Sum: 1.5814.
#
# </details>

# %%
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    return m, d1 * math.exp(m1 - m) + d2 * math.exp(m2 - m)


def fold(row):
    m = max(row)
    return m, sum(math.exp(x - m) for x in row)


# %%
film = [3, 1, 4, 2, 8, 5, 7, 6]
anna, ben = fold(film[:4]), fold(film[4:])
print("merged:     m = %g, d = %.4f" % merge(*anna, *ben))
print("d added:    m = %g, d = %.4f" % (max(anna[0], ben[0]), anna[1] + ben[1]))
print("whole row:  m = %g, d = %.4f" % fold(film))

# %% [markdown]
# **The rule.** A **merge** makes one state of two, each side with its own factor:
#
# $$m = \max(m_1, m_2), \qquad d = d_1\,e^{m_1 - m} + d_2\,e^{m_2 - m}$$

# %% [markdown]
# The line "d added" is the classic mistake: the two d are in different units. One of the two factors is
# always 1, but you do not know beforehand which.

# %% [markdown]
# ## Where the rule comes from
#
# Let A and B be the numbers behind the two states. Against the common maximum m, split the sum, and take
# the old maximum out of each half:
#
# $$\sum_{x \in A \cup B} e^{x - m} = \sum_{x \in A} e^{x - m_1} e^{m_1 - m} + \sum_{x \in B} e^{x - m_2} e^{m_2 - m} = d_1 e^{m_1 - m} + d_2 e^{m_2 - m}$$

# %% [markdown]
# Lesson 02's update is a special case. A single number x is the state (x, 1): its maximum is x, and its
# denominator is e^(x−x) = 1. Merge (m, d) with (x, 1), and the recurrence appears.

# %%
m, d = -math.inf, 0.0
for x in film:
    m, d = merge(m, d, x, 1.0)
print("m = %g, d = %.4f" % (m, d))

# %% [markdown]
# ## Three laws
#
# A state is short for a set of numbers, and a merge for their union. Written as one number,
#
# $$d\,e^{m} = d_1 e^{m_1} + d_2 e^{m_2},$$
#
# a merge is plain **addition** of $d\,e^m$, in a form that cannot overflow. So it has the laws of addition.

# %% [markdown]
# - **commutative**: merge(A, B) = merge(B, A);
# - **associative**: merge(merge(A, B), C) = merge(A, merge(B, C));
# - **identity**: merging with the empty set changes nothing.
#
# So any tree will do: threads, warps, blocks, cards, in any order.

# %%
from autograder.figures import exchange_picture, sector_map, state_tree, traffic_bars

shares = [fold(film[i : i + 2]) for i in (0, 2, 4, 6)]
state_tree(shares, names=["thread 0", "thread 1", "thread 2", "thread 3"],
           title="Four threads, two numbers of the film each")

# %% [markdown]
# Another order, the same result: thread 3 first, then 1, 0 and 2.

# %%
state = shares[3]
for t in (1, 0, 2):
    state = merge(*state, *shares[t])
print("m = %g, d = %.4f" % state)

# %% [markdown]
# ## Why −∞ is the identity
#
# The empty set has no term, so d = 0. Its m must never win against a number, so m = −∞. **Predict** the merge
# of (−∞, 0) with (4, 1.5530): which factor does each side get?

# %%
print("factors:", math.exp(-math.inf - 4), "and", math.exp(4 - 4))
print("m = %g, d = %.4f" % merge(-math.inf, 0.0, *anna))

# %% [markdown]
# A finite stand-in seems to work, until a row lies below it. Here threads start at −10,000, and the
# row lies near −20,000:

# %%
low = [x - 20_000 for x in film]
for start in (-math.inf, -10_000.0):
    m, d = start, 0.0
    for x in low:
        m, d = merge(m, d, x, 1.0)
    print(f"start {start:>8}: m = {m:g}, d = {d:.4f}")

# %% [markdown]
# With d = 0, every output is 0/0. The stand-in took the maximum although nobody wrote it in the row.

# %% [markdown]
# ## Where it breaks: two empty states
#
# A row of 5 numbers leaves 251 of 256 threads without one. Two of them meet in the tree. **Predict**
# merge(−∞, 0, −∞, 0).

# %%
print("m = %g, d = %g" % merge(-math.inf, 0.0, -math.inf, 0.0))

# %% [markdown]
# −∞ − (−∞) is NaN, and NaN merged with anything is NaN: one idle pair spoils the row. Subtract something finite
# instead, and only then:

# %%
def merge_safe(m1, d1, m2, d2):
    m = max(m1, m2)
    base = 0.0 if m == -math.inf else m  # both empty: −inf − −inf would be NaN
    return m, d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)


# %%
print("m = %g, d = %g" % merge_safe(-math.inf, 0.0, -math.inf, 0.0))
print("m = %g, d = %.4f" % merge_safe(*anna, *ben))

# %% [markdown]
# ## What rounding does
#
# In float32 the laws hold up to rounding. `max` is exact in any order. Each merge rounds two factors, two
# products and one sum. Here are 500 triples of states, associated in both ways:

# %%
def merge32(one, two):
    m = max(one[0], two[0])
    left, right = one[1] * np.exp(one[0] - m), two[1] * np.exp(two[0] - m)
    return m, left + right


# %%
rng = np.random.default_rng(3)
units = []
for _ in range(500):
    a, b, c = zip(rng.normal(0, 3, 3).astype(np.float32), rng.uniform(1, 9, 3).astype(np.float32))
    one, two = merge32(merge32(a, b), c), merge32(a, merge32(b, c))
    units.append(abs(float(one[1]) - float(two[1])) / float(np.spacing(one[1])))
print("equal to the last bit:", units.count(0), "of 500")
print("largest difference, in last places:", max(units))

# %% [markdown]
# How far can one rescale be off? Let $t = m - m_1$ and $u = 2^{-24}$, the rounding unit of float32. The
# difference t is off by at most $u\,t$, so the factor by the relative error $u\,t$, and $d_1 e^{-t}$ by
#
# $$u \, t\, e^{-t} d_1 \;\le\; \tfrac{u}{e}\, d_1 .$$

# %% [markdown]
# A long way down (t large) the factor is poor, but what it multiplies vanishes faster. One rescale is
# harmless. **Many in a row** are another matter: each leaves its own error in d.

# %% [markdown]
# **Predict.** A row that rises slowly, by 0.001 a step, 4,096 numbers. One walker rescales at every step. A
# tree rescales each share 12 times. Who is nearer to the truth, and by what factor?

# %%
def walk(states):
    state = states[0]
    for one in states[1:]:
        state = merge32(state, one)
    return state


def tree(states):
    while len(states) > 1:
        half = len(states) // 2
        states = [merge32(states[t], states[t + half]) for t in range(half)]
    return states[0]


# %%
def error(x, how):
    x = x.astype(np.float32)
    right = np.exp(x.astype(np.float64) - x.max()).sum()
    return abs(float(how([(v, np.float32(1)) for v in x])[1]) / right - 1)


for name, x in {"random": rng.normal(size=4096), "rising slowly": np.arange(4096) / 1000}.items():
    print(f"{name:14} one walker {error(x, walk):.1e}   tree {error(x, tree):.1e}")

# %% [markdown]
# On the slow ramp the same factor e^(−0.001) is rounded the same way thousands of times, and the errors
# add up. In a tree a term meets 12 factors, not thousands. More threads make it faster *and* more exact.

# %% [markdown]
# ## A tree of pairs in shared memory
#
# Your lab merges (m, d). Here is its cousin from lesson 02, (m, c): the maximum and how often it occurs. It has
# the same three laws, with identity (−∞, 0).

# %%
@cuda.jit(device=True)
def merge_counts(m1, c1, m2, c2):
    if m1 > m2:
        return m1, c1
    if m2 > m1:
        return m2, c2
    return m1, c1 + c2


# %% [markdown]
# The tree is the one of lab 1, with two shared arrays in place of one. A number x is the pair (x, 1).

# %%
@cuda.jit
def count_tree(X, C):
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    ms = cuda.shared.array(256, numba.float32)
    cs = cuda.shared.array(256, numba.int32)
    m, c = numba.float32(-math.inf), numba.int32(0)
    for j in range(t, n, 256):
        m, c = merge_counts(m, c, X[row, j], numba.int32(1))
    ms[t], cs[t] = m, c
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            ms[t], cs[t] = merge_counts(ms[t], cs[t], ms[t + half], cs[t + half])
        cuda.syncthreads()
        half //= 2
    if t == 0:
        C[row] = cs[0]


# %%
X = rng.integers(0, 200, (4, 1024)).astype(np.float32)
C = np.zeros(4, np.int32)
pairs = xray(count_tree[4, 256], X, C)
print("right:", np.array_equal(C, (X == X.max(axis=1, keepdims=True)).sum(axis=1)))
pairs

# %% [markdown]
# ## What it saves, and what it costs
#
# Without pairs, the same question takes two reductions: the maximum first, then a second read to count. That
# is how three passes work.

# %%
@cuda.jit(device=True)
def fold_halves(red, t, take_max):
    half = 128
    while half > 0:
        if t < half:
            red[t] = max(red[t], red[t + half]) if take_max else red[t] + red[t + half]
        cuda.syncthreads()
        half //= 2


@cuda.jit
def count_twice(X, C):
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    red = cuda.shared.array(256, numba.float32)
    m = numba.float32(-math.inf)
    for j in range(t, n, 256):
        m = max(m, X[row, j])
    red[t] = m
    cuda.syncthreads()
    fold_halves(red, t, True)
    m = red[0]
    cuda.syncthreads()  # red is about to be used again
    c = numba.float32(0)
    for j in range(t, n, 256):
        if X[row, j] == m:
            c += numba.float32(1)
    red[t] = c
    cuda.syncthreads()
    fold_halves(red, t, False)
    if t == 0:
        C[row] = red[0]


# %% [markdown]
# **Predict** for each: load sectors of X [4, 1024], eight numbers a sector, and barriers of one block.

# %%
twice = xray(count_twice[4, 256], X, C)
for name, look in (("two reductions", twice), ("one, of pairs", pairs)):
    sectors, barriers = look.traffic.load_sectors, look.trace.barriers // 4
    print(f"{name:15} {sectors:5} load sectors, {barriers:3} barriers a block")

# %% [markdown]
# One read and one tree are gone. The price is arithmetic. For softmax:
#
# | of one row | three passes | merge reduce |
# |---|---|---|
# | reads of the row | 3 | 2 |
# | reductions | 2 | 1, of pairs |
# | exponentials in the reads | n | 2n, or fewer with an `if` |
# | shared memory of a tree | 4 bytes a thread | 8 |

# %% [markdown]
# Exponentials are cheaper than memory, but not free. On a public CUDA tutorial's A100, softmax of 4,096 ×
# 4,096 in three passes took about 1.4 times as long as merging through shuffles. Further down we look at
# another card.

# %% [markdown]
# ## Shuffles: registers trade places
#
# The lanes of a warp can read each other's registers. `cuda.shfl_down_sync(mask, value, offset)` gives a lane
# the `value` of the lane `offset` further on. No memory is touched and no barrier is needed. **mask** names
# the lanes that take part, a bit for each.

# %% [markdown]
# **Predict.** 32 lanes, offsets 16, 8, 4, 2, 1, each lane merges in what it reads. Which lanes
# hold all 32 at the end? This kernel notes down who reads whom, by shuffling lane numbers:

# %%
@cuda.jit
def note_down(sources):
    lane = cuda.threadIdx.x
    for step in range(5):
        sources[step, lane] = cuda.shfl_down_sync(0xFFFFFFFF, lane, 16 >> step)


sources = np.zeros((5, 32), np.int32)
note_down[1, 32](sources)
offsets = [f"down {o}" for o in (16, 8, 4, 2, 1)]
exchange_picture(sources, labels=offsets, title="shfl_down_sync: who reads whom, recorded from the run")

# %% [markdown]
# Only lane 0. A lane whose neighbour would lie past lane 31 gets its **own** value back, merges with itself and
# counts itself twice. For a maximum that would do no harm; for d it does.

# %% [markdown]
# `cuda.shfl_xor_sync` reads the lane whose number differs in one bit: two lanes always trade with each other.
# **Predict** again.

# %%
@cuda.jit
def note_xor(sources):
    lane = cuda.threadIdx.x
    for step in range(5):
        sources[step, lane] = cuda.shfl_xor_sync(0xFFFFFFFF, lane, 16 >> step)


note_xor[1, 32](sources)
offsets = [f"xor {o}" for o in (16, 8, 4, 2, 1)]
exchange_picture(sources, labels=offsets, title="shfl_xor_sync, the butterfly: recorded from the run")

# %% [markdown]
# Every lane. The butterfly costs the same five steps, and nobody has to hand out the result afterwards.

# %% [markdown]
# A state is two numbers, so each step takes **two shuffles**: one moves 32 m, one moves 32 d. That is 2 · 32
# · 4 = 256 bytes a step, from register to register.

# %% [markdown]
# ## Where it breaks: lanes that are not there
#
# You may read only lanes that are running and named in the mask. Here 48 threads make a warp and a half, and
# the full mask names 32 lanes in both. **Predict** what lane 0 of the second warp gets with xor 16.

# %%
from textwrap import fill


@cuda.jit
def dead_lanes(x, y):
    t = cuda.threadIdx.x
    y[t] = cuda.shfl_xor_sync(0xFFFFFFFF, x[t], 16)


x48, y48 = np.arange(48, dtype=np.float32), np.zeros(48, np.float32)
print(fill(xray(dead_lanes[1, 48], x48, y48).findings[0], 96))

# %% [markdown]
# On a GPU the value is undefined, often even the expected one: such a kernel can pass for years. Cures: a
# block that is a multiple of 32, and no lane that leaves before the shuffle. An idle lane stays and holds the
# identity.

# %% [markdown]
# ## Two levels
#
# A block of 256 has 8 warps. Each shuffles its lanes down to one pair; lane 0 puts the pair into shared memory;
# after **one** barrier a warp shuffles the 8 pairs. A tree needed 9 barriers.

# %% [markdown]
# **Predict.** In the second level 8 pairs meet 32 lanes. What do lanes 8 to 31 read, if nobody thinks
# of them? The shared arrays have 32 places.

# %%
@cuda.jit
def second_level(C):
    ms = cuda.shared.array(32, numba.float32)
    t = cuda.threadIdx.x
    if t % 32 == 0:
        ms[t // 32] = t  # a stand-in for the warp's result
    cuda.syncthreads()
    if t < 32:
        C[t] = ms[t]


print(fill(xray(second_level[1, 256], np.zeros(32, np.float32)).findings[0], 96))

# %% [markdown]
# Whatever lay there before, perhaps another block's rows. Lanes without a warp take (−∞, 0). And then idle
# lanes meet idle lanes: the merge of two empty states happens in **every** block.

# %% [markdown]
# ## 16 bytes at a time
#
# `load4(x, i)` of `autograder.kernels` reads `x[i]` to `x[i+3]` in one instruction: 16 bytes a lane, 512 a
# request. **Predict** for 4,096 numbers: requests and sectors, with 4-byte and with 16-byte loads.

# %%
from autograder.kernels import load4


@cuda.jit
def walk_single(x, out):
    t = cuda.threadIdx.x
    top = numba.float32(-math.inf)
    for i in range(t, x.shape[0], cuda.blockDim.x):
        top = max(top, x[i])
    out[t] = top


@cuda.jit
def walk_four(x, out):
    t = cuda.threadIdx.x
    top = numba.float32(-math.inf)
    for i in range(4 * t, x.shape[0], 4 * cuda.blockDim.x):
        a, b, c, d = load4(x, i)
        top = max(top, a, b, c, d)
    out[t] = top


# %%
x, out = rng.normal(size=4096).astype(np.float32), np.zeros(128, np.float32)
loads = {}
for kernel in (walk_single, walk_four):
    t = loads[kernel.__name__] = xray(kernel[1, 128], x, out).traffic
    print(kernel.__name__, "finds the maximum:", out.max() == x.max())
    print(f"{t.load_requests:4} requests, {t.load_sectors} sectors, {t.load_bytes} bytes")

# %% [markdown]
# The same bytes and sectors, a quarter of the requests:

# %%
traffic_bars(loads.items(), unit="requests", title="Load requests for 4,096 numbers")

# %% [markdown]
# One request now touches 16 sectors:

# %%
sector_map(range(0, 128, 4), per_lane=4, title="One request of 16-byte loads, 4 numbers a lane")

# %% [markdown]
# Memory has no less to do, but the cores have: fewer instructions for the same bytes, and more bytes on their
# way at once. On the tutorial's A100 the shuffle version went from 58 % to 70 % of the bandwidth with 16-byte
# loads.

# %% [markdown]
# ## Where it breaks: alignment
#
# A 16-byte load must begin at a multiple of 16 bytes. **Predict.** X is [2, 1001], and this kernel looks at the
# first numbers of row 1. At which byte do they begin?

# %%
@cuda.jit
def second_row(X, out):
    a, b, c, d = load4(X[1], 4 * cuda.threadIdx.x)
    out[cuda.threadIdx.x] = a


print(fill(xray(second_row[1, 32], np.ones((2, 1001), np.float32), out).findings[0], 96))

# %% [markdown]
# Byte 4,004, which is 4 more than a multiple of 16. A GPU stops such a kernel. Rows of a matrix begin
# wherever n puts them, at byte $4 \cdot n \cdot \text{row}$:

# %%
for n in (1000, 1001, 1002):
    starts = [4 * n * row % 16 for row in range(5)]
    print(f"n = {n}: rows 0 to 4 begin {starts} bytes past a multiple of 16")

# %% [markdown]
# So rows with n a multiple of 4 are all aligned. Otherwise some are not, and those are read one number at a
# time. And where 4 does not divide n, up to three numbers are left over: the **tail**. It is read one by one,
# too. A kernel that forgets it looks right on 1,024.

# %% [markdown]
# ## Few blocks, many rows
#
# One block a row means 32,768 blocks for 32,768 rows. A **grid stride** launches only as many as fit on the
# card, and each block takes every so-many-th row:

# %%
rows, blocks = 10, 4
for b in range(blocks):
    print(f"block {b}: rows", list(range(b, rows, blocks)))

# %% [markdown]
# New: a block now uses its shared memory **again**, for the next row. **Predict** what may go wrong here,
# between the last line of the loop and its first:

# %%
@cuda.jit
def below_top(X, Y):
    t = cuda.threadIdx.x
    red = cuda.shared.array(64, numba.float32)
    for row in range(cuda.blockIdx.x, X.shape[0], cuda.gridDim.x):
        red[t] = X[row, t]
        cuda.syncthreads()
        half = 32
        while half > 0:
            if t < half:
                red[t] = max(red[t], red[t + half])
            cuda.syncthreads()
            half //= 2
        Y[row, t] = X[row, t] - red[0]


X64 = rng.normal(size=(10, 64)).astype(np.float32)
Y64 = np.zeros_like(X64)
print(fill(xray(below_top[4, 64], X64, Y64).findings[0], 96))

# %% [markdown]
# Thread 0 may run ahead and put the next row's number into `red[0]`, while others still have to read this
# row's maximum. With one block a row there was no next row. The cure is one more barrier at the end of the
# loop.

# %% [markdown]
# Grid stride moves the same bytes. What it offers is one set-up for many rows, and a number of blocks that
# you choose.

# %% [markdown]
# ## What a GPU says
#
# **Predict** the order, then read: the labs' own kernels on an H200, float32 32,768 × 4,096, 256 threads a
# block (recorded with `benchmarks/merge_reduce.py`).
#
# | kernel | blocks | ms |
# |---|---|---|
# | three passes, lab 1 | 32,768 | 0.651 |
# | tile by tile, lab 2 | 32,768 | 0.898 |
# | tree of pairs | 32,768 | 0.575 |
# | shuffles | 32,768 | 0.701 |
# | tree, 16-byte loads | 32,768 | 0.375 |
# | tree, grid stride | 528 | 1.101 |

# %% [markdown]
# Why do shuffles lose here, to the tree and even to three passes? Count merges by warp. The tree's steps keep
# 4, 2, 1, 1, 1, 1, 1 and 1 warps busy: 12. The butterfly runs 5 steps in 8 warps, twice: 80. Each has two
# exponentials; barriers are cheaper.

# %% [markdown]
# Why is the third read nearly free? The row is still in a cache. Time hides it, sectors do not: lesson 04.
# Why is grid stride slow? 528 blocks are 1,024 threads on each multiprocessor, half of what it holds. It is a
# knob to turn and measure.

# %% [markdown]
# ## One very long row
#
# Grid stride does nothing for it: one row is one block, and the rest of the card is idle. Give the row to
# **several** blocks. Each folds a piece and writes its pair; a second merge joins the pairs. The laws allow
# it.

# %%
long_row = rng.normal(size=1_000_000) * 3
pieces = np.array_split(long_row, 8)
parts = [(p.max(), np.exp(p - p.max()).sum()) for p in pieces]
m, d = -math.inf, 0.0
for part in parts:
    m, d = merge_safe(m, d, *part)
print("merged right:", np.isclose(d, np.exp(long_row - long_row.max()).sum(), rtol=1e-12))

# %%
state_tree(parts, names=[f"block {b}" for b in range(8)], title="A row of a million in eight pieces")

# %% [markdown]
# Eight **cards** work in the same way. Each holds a piece of the row; what crosses the wire is one pair a
# row, 8 bytes, not the piece. Here a piece has 125,000 numbers, 500,000 bytes.

# %% [markdown]
# ## The state beyond softmax
#
# The pair is worth having even where nobody wants the shares. **Log-sum-exp** is
#
# $$\log \sum_i e^{x_i} = m + \log d,$$
#
# safe for any logits, in one read.

# %%
logits = np.array([1000.0, 1001.0, 999.0])
m, d = fold(logits)
print(f"m + log d = {m + math.log(d):.4f}; e^1001 alone overflows even float64")

# %% [markdown]
# **Cross-entropy**, the loss of a language model, needs the share of one token y only:
#
# $$-\log \frac{e^{x_y - m}}{d} = m + \log d - x_y$$
#
# One read of the logits, one number out. The softmax itself is never written.

# %% [markdown]
# **Predict** the bytes for one token with a vocabulary of 131,072: softmax in two passes, with the shares
# written; and the loss from the state.

# %%
vocabulary = 131_072
print(f"softmax: {4 * vocabulary * 3:,} bytes (two reads, one write)")
print(f"loss:    {4 * vocabulary + 8:,} bytes (one read, one logit again, one number out)")

# %% [markdown]
# ## Check yourself
#
# **1.** Derive the merge. Where does each factor come from?
#
# <details><summary>Answer</summary>
#
# The denominator of both sets against the common maximum m is the sum over A plus the sum over B. Each term
# e^(x−m) is e^(x−m₁) · e^(m₁−m): the factor does not depend on x and comes out of the sum. What remains is
# d₁.
#
# </details>

# %% [markdown]
# **2.** Why is the merge associative, and how exactly?
#
# <details><summary>Answer</summary>
#
# It adds d·e^m, the plain sum of exponentials of the set, and the maximum of a union does not depend on the
# order either. In float32, m agrees exactly and d up to a few roundings.
#
# </details>

# %% [markdown]
# **3.** What do the two shuffles of a step move, and what do they not need?
#
# <details><summary>Answer</summary>
#
# One moves the m of 32 lanes, one their d, straight from register to register. No shared memory and no barrier:
# the lanes of the mask meet in the call itself.
#
# </details>

# %% [markdown]
# **4.** Which lanes may be read with a full mask?
#
# <details><summary>Answer</summary>
#
# Those that run and make the same call: all 32 must. So no lane may have returned or sit in another branch, and
# the block must be a multiple of 32. Idle lanes stay in, with (−∞, 0).
#
# </details>

# %% [markdown]
# ## You have
#
# - the merge, its proof and its three laws, and the guard for two empty states;
# - a measure of its rounding: a tree beats a walk;
# - a tree, a butterfly, and two levels;
# - a quarter of the requests; grid stride and its barrier;
# - log-sum-exp, the loss, several blocks and cards.
#
# **Now lab 3:** `merge`, then four kernels.
