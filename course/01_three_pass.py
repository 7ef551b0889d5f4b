# %% [markdown]
# # 01 · Three passes
#
# **Question.** Softmax turns a row of numbers into positive shares that add up to one. It needs
# little arithmetic. Why is it slow on a GPU, and what must we count to make it faster?

# %% [markdown]
# **You will**
#
# - compute a safe softmax by hand, and watch the literal formula fail;
# - reduce a row to one number with a block: a tree, an identity, barriers with a reason;
# - count how often a row crosses global memory;
# - judge a float32 result by a tolerance that you can defend.

# %% tags=["setup"]
# setup

# %% [markdown]
# ## By hand: four numbers
#
# The row is 3 1 4 2. Its maximum is m = 4. Subtract it, take exponentials, and add them up to the
# denominator d:
#
# | x | 3 | 1 | 4 | 2 |
# |---|---|---|---|---|
# | x − m | −1 | −3 | 0 | −2 |
# | e^(x − m) | 0.3679 | 0.0498 | 1 | 0.1353 |
#
# **Predict.** What is d, and which share does the 4 get?

# %%
np.set_printoptions(precision=4)
x = np.array([3, 1, 4, 2], np.float64)
m = x.max()
e = np.exp(x - m)
d = e.sum()
print(f"m = {m:g}   d = {d:.4f}   shares {e / d}")

# %% [markdown]
# **The rule** of safe softmax:
#
# $$\text{softmax}(x)_i = \frac{e^{x_i - m}}{d}, \qquad m = \max_j x_j, \qquad d = \sum_j e^{x_j - m}$$

# %% [markdown]
# ## Overflow: where the literal formula breaks
#
# Why subtract anything? **Predict** what float32 makes of the row 100, 101, 50, 0 when nothing is
# subtracted. Which exponentials are infinite, and which shares are numbers?

# %%
x = np.array([100, 101, 50, 0], np.float32)
with np.errstate(over="ignore", invalid="ignore"):  # the overflow is the point of this cell
    e = np.exp(x)
    print("e^x   ", e)
    print("d     ", e.sum())
    print("shares", e / e.sum())

# %% [markdown]
# `exp(100)` is too large for float32 and becomes inf. So d is inf. Then inf / inf is NaN. And 100 is
# no exotic number: it is an ordinary score at the end of a network. The limit of float32 lies here:

# %%
print(f"largest x with a finite exp(x): {np.log(np.finfo(np.float32).max):.2f}")

# %% [markdown]
# Subtracting a constant c does not change the result. It divides every term by $e^{c}$, above and
# below the line:
#
# $$\frac{e^{x_i - c}}{\sum_j e^{x_j - c}} = \frac{e^{x_i}\,e^{-c}}{e^{-c}\sum_j e^{x_j}} = \frac{e^{x_i}}{\sum_j e^{x_j}}$$

# %%
for c in (0.0, 60.0, 101.0):  # in float64, where e^101 still fits
    e = np.exp(x.astype(np.float64) - c)
    print(c, e / e.sum())

# %% [markdown]
# So we may choose c. The maximum is the best choice: the largest exponent becomes 0, the largest
# term exactly 1. No term overflows, and d lies between 1 and n. Terms can only **underflow**: become
# too small for float32 and end as 0. Their true share is that small too.

# %%
e = np.exp(x - x.max())
print("terms ", e)
print("shares", e / e.sum())
print("exp(-104) in float32:", np.exp(np.float32(-104)))

# %% [markdown]
# ## What a GPU waits for
#
# | memory | size | speed | who sees it |
# |---|---|---|---|
# | **global** | large: all arrays live here | slow | every thread |
# | **shared** | small: up to 48 KiB a block, when its size is fixed in the kernel | fast | the threads of one block |
# | **registers** | a few values | fastest | one thread |
#
# A kernel's variables like `m` and `d` live in registers.

# %%
from autograder.figures import memory_picture, transfer_film, tree_picture

memory_picture()

# %% [markdown]
# Count the work on one number of a row: one comparison for m; subtract, exponential, add for d;
# subtract, exponential, divide for the share. For this the number crosses global memory four times,
# 4 bytes each: three reads and one write.

# %%
operations = 1 + 3 + 3
bytes_moved = 4 * (3 + 1)
print("softmax:", operations / bytes_moved, "operations a byte")

# %% [markdown]
# What could a card do? Measured on one H200 when this course was designed: 4,167 GB/s for a copy, and
# 33 TFLOP/s for PyTorch's attention in float32.

# %%
print(f"the card: {33e12 / 4167e9:.1f} operations a byte")

# %% [markdown]
# Softmax asks for far fewer operations a byte than the card can do. Arithmetic waits for memory. So
# we judge a kernel by its **traffic**: the bytes and the sectors that it moves. Saving a read of the
# row is worth more than saving an exponential.

# %% [markdown]
# ## Reductions: eight numbers to one
#
# Maximum and sum turn a row into one number: they are **reductions**. A block does them as a
# **tree**. Half the threads combine two numbers each, then a quarter, and so on.
#
# | step | numbers |
# |---|---|
# | start | 3 1 4 2 8 5 7 6 |
# | 4 threads | max(3,8) max(1,5) max(4,7) max(2,6) = 8 5 7 6 |
# | 2 threads | ? ? |
# | 1 thread | ? |

# %% [markdown]
# **Predict** the last two lines. How many steps would 256 numbers take?

# %%
s = np.array([3, 1, 4, 2, 8, 5, 7, 6], np.float32)
half = 4
while half > 0:
    s[:half] = np.maximum(s[:half], s[half : 2 * half])
    print(f"first {half}:", s[:half])
    half //= 2
print("256 numbers:", int(math.log2(256)), "steps")

# %%
tree_picture([3, 1, 4, 2, 8, 5, 7, 6], "max", name="s")

# %% [markdown]
# In a kernel the numbers lie in shared memory, because threads read each other's. Each step starts
# with a barrier: nobody may read a number of the last step before its thread has written it.

# %% [markdown]
# A `device=True` function is one that kernels call. `TILE` is a constant, as a shared array's length
# must be.

# %%
TILE = 8


@cuda.jit(device=True)
def tree_max(s, t):
    half = TILE // 2
    while half > 0:
        cuda.syncthreads()  # before reading what others wrote
        if t < half:
            s[t] = max(s[t], s[t + half])
        half //= 2
    cuda.syncthreads()  # s[0] is ready for every thread
    return s[0]


# %% [markdown]
# The barrier stands outside the `if`: all threads must reach it, the idle ones too. Inside a step no
# barrier is needed: what is read, `s[t + half]`, nobody writes in that step.

# %%
@cuda.jit
def tile_max(x, out):
    s = cuda.shared.array(TILE, numba.float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    top = tree_max(s, t)
    if t == 0:
        out[cuda.blockIdx.x] = top


# %%
x = np.array([3, 1, 4, 2, 8, 5, 7, 6], np.float32)
x = np.append(x, -x)
out = np.zeros(2, np.float32)
tile_max[2, TILE](x, out)
print(out)

# %% [markdown]
# ## Where it breaks: the padding value
#
# Six numbers, eight threads. Two threads have nothing to load, but the tree reads their place. What
# should they put there? **Predict** both reductions of −3 −1 −4 −2 −8 −5 when they put 0.

# %%
row = np.array([-3, -1, -4, -2, -8, -5], np.float32)
for pad in (0, -np.inf):
    padded = np.append(row, [pad, pad])
    print(f"pad {pad}: max {padded.max()}, sum {padded.sum()}")
print(f"truth: max {row.max()}, sum {row.sum()}")

# %% [markdown]
# A 0 in the maximum wins in silence when every number is negative. A −inf in the sum swallows
# everything. The right padding is the **identity** of *that* reduction, the value that changes
# nothing:
#
# $$\max(-\infty,\, x) = x, \qquad 0 + x = x$$

# %% [markdown]
# The same holds for rows longer than a block. Each thread first reduces its own numbers, in steps of
# `blockDim.x` as in lesson 00, and starts from the identity. A thread that gets no number hands in
# the identity.

# %% [markdown]
# ## Where it breaks: one buffer, two reductions
#
# Stretch a tile to the range 0 to 1: y = (x − bottom) / (top − bottom). That takes two reductions. The
# second may reuse the buffer of the first; the minimum of x is −max(−x).

# %%
@cuda.jit
def stretch(x, y):
    s = cuda.shared.array(TILE, numba.float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    top = tree_max(s, t)
    cuda.syncthreads()  # all have read s[0]: the buffer is free
    s[t] = -x[t]
    bottom = -tree_max(s, t)
    y[t] = (x[t] - bottom) / (top - bottom)


# %% [markdown]
# Now without the barrier in the middle.

# %%
@cuda.jit
def stretch_hasty(x, y):
    s = cuda.shared.array(TILE, numba.float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    top = tree_max(s, t)
    s[t] = -x[t]
    bottom = -tree_max(s, t)
    y[t] = (x[t] - bottom) / (top - bottom)


# %% [markdown]
# **Predict.** (On a GPU, choose the simulator first, as in lesson 00.) Threads run forward: thread 0 reads `s[0]`, then overwrites it with its own −x. What
# do the other threads take for the top? And what happens if they run in reverse?

# %%
from autograder.simulator import launch

x = np.array([3, 1, 4, 2, 8, 5, 7, 6], np.float32)
for kernel in (stretch, stretch_hasty):
    for order in ("forward", "reverse"):
        y = np.zeros_like(x)
        trace = launch(kernel, 1, TILE, (x, y), order=order)
        print(f"{kernel.__name__:14}{order:8}", y.round(2))

# %% [markdown]
# In reverse it even comes out right. A kernel that is right in one order and wrong in another is
# wrong. **racecheck** finds it in either order:

# %%
print(trace.findings[0].tool, "·", trace.findings[0].message)

# %% [markdown]
# Line 13 is in `tree_max`, line 7 in the kernel. The advice names `syncwarp` first: a barrier for a
# single warp, and eight threads fit into one. In these labs we use `syncthreads` throughout.

# %% [markdown]
# Every barrier has a reason that you can say in half a sentence. Three are enough here: before
# reading what others wrote; after the tree, before all read `s[0]`; before the buffer is filled
# again.

# %% [markdown]
# ## Three passes
#
# Back to softmax. The first exponential needs m, the first share needs d:
#
# | pass | reads | gives |
# |---|---|---|
# | 1 | the row | m |
# | 2 | the row | d |
# | 3 | the row | writes the shares |
#
# Pass 2 cannot start before pass 1 ends, for the maximum may be the last number.

# %% [markdown]
# ## Counting transfers: the film
#
# A block handles one **tile** at a time, and a long row does not fit into fast memory. So each pass
# fetches all tiles again. Our row is 3 1 4 2 8 5 7 6, in two tiles of four.
#
# **Predict.** How many tiles travel, fetched or stored, until all shares are written?

# %%
row = np.array([3, 1, 4, 2, 8, 5, 7, 6], np.float64)
film = []


def fetch(k, why):
    film.append(f"fetch tile {k} for {why}")
    return row[4 * k : 4 * k + 4]


# %%
m = max(fetch(k, "m").max() for k in (0, 1))
d = sum(np.exp(fetch(k, "d") - m).sum() for k in (0, 1))
for k in (0, 1):
    share = np.exp(fetch(k, "the shares") - m) / d
    film.append(f"store tile {k}: {share.round(4)}")

# %%
print(*film, sep="\n")
print(f"m = {m:g}, d = {d:.4f}, transfers: {len(film)}")

# %% [markdown]
# The picture, drawn from the same row by other code:

# %%
strip = transfer_film(row, tile=4, kind="three_pass")
strip

# %%
print(f"{strip.fetches} fetches + {strip.stores} stores = {strip.transfers}")

# %% [markdown]
# Six fetches and two stores. In lesson 02 the same row needs four fetches and two stores.

# %% [markdown]
# ## Count it in a kernel
#
# The same three passes, written as plainly as can be: one thread a row.

# %%
@cuda.jit
def three_pass_walk(X, Y):
    r = cuda.grid(1)
    if r < X.shape[0]:
        m = np.float32(-math.inf)
        for j in range(X.shape[1]):
            m = max(m, X[r, j])
        d = np.float32(0)
        for j in range(X.shape[1]):
            d += math.exp(X[r, j] - m)
        for j in range(X.shape[1]):
            Y[r, j] = math.exp(X[r, j] - m) / d


# %%
X = np.tile(row.astype(np.float32), (32, 1))
Y = np.zeros_like(X)
look = xray(three_pass_walk[1, 32], X, Y)
look

# %% [markdown]
# **Count.** Loads and stores, in multiples of the array's own size:

# %%
t = look.traffic
print("reads:", t.load_bytes / X.nbytes, " writes:", t.store_bytes / Y.nbytes)
print("load sectors:", t.load_sectors, " fewest:", 3 * X.nbytes // 32)

# %% [markdown]
# Three reads, one write, as on film. But eight times the sectors: neighbouring lanes read addresses
# a row apart. In lab 1 you give each row a whole block, and then the sectors fall to the fewest.

# %% [markdown]
# ## Who says it is right?
#
# Not another kernel of yours: twins share mistakes. Here the literal formula is judged by itself.

# %%
def literal(x):
    with np.errstate(over="ignore", invalid="ignore"):
        return np.exp(x) / np.exp(x).sum()


x = np.array([100, 101, 50, 0], np.float32)
print(np.allclose(literal(x), literal(x.copy()), equal_nan=True))

# %% [markdown]
# "Equal", and both are NaN. Ask an independent **oracle** instead: the safe formula, in float64,
# which carries some 16 digits where float32 has 7. NaN equals nothing there.

# %%
def oracle(x):
    e = np.exp(x.astype(np.float64) - x.max())
    return e / e.sum()


print(np.allclose(literal(x), oracle(x)))

# %% [markdown]
# How close is close enough? One float32 operation rounds by at most 2⁻²⁴ of the value. A sum of n
# terms rounds n times, up or down, and such errors grow about like √n. So the course's gate
# allows, in each element,
#
# $$|\text{out} - \text{ref}| \le r\,|\text{ref}| + \text{tiny}, \qquad r = \max(10^{-5},\; 4 \cdot 2^{-23}\sqrt{n})$$

# %%
rng = np.random.default_rng(0)
for n in (256, 4096, 65536):
    terms = rng.random(n, np.float32)
    print(f"n = {n:5}   allowed {max(1e-5, 4 * 2**-23 * n**0.5):.1e}", end="")
    for kind in (np.float32, np.float16):  # added one by one
        error = np.cumsum(terms, dtype=kind)[-1] / terms.sum(dtype=np.float64) - 1
        print(f"   {kind.__name__} {abs(error):.1e}", end="")
    print()

# %% [markdown]
# A float32 sum stays well below the gate, even added one by one. A float16 sum does not.
# Nor would a sum that forgot part of the row.

# %% [markdown]
# A verdict tells the worst error as a **gate fraction**: 1.0 is the limit. Here is the kernel above,
# judged by the oracle.

# %%
ref = oracle(X[0])
fraction = np.abs(Y[0] - ref) / (1e-5 * ref)
print("gate fraction below 0.1:", fraction.max() < 0.1)

# %% [markdown]
# ## Check yourself
#
# **1.** Why not use one padding value for both reductions?
#
# <details><summary>Answer</summary>
#
# The value must change nothing. For max only −inf does that: 0 wins over negative numbers. For a
# sum only 0 does: −inf swallows the sum. No single value is both.
#
# </details>

# %% [markdown]
# **2.** Literal softmax of 100, 101, 50, 0 in float32: which operation makes the first inf, and which turns
# it into NaN?
#
# <details><summary>Answer</summary>
#
# exp(100) makes inf, since e^100 is above the largest float32. The division turns it into NaN: inf
# / inf. The other two shares come out as finite / inf = 0: no alarm, and wrong too.
#
# </details>

# %% [markdown]
# **3.** Which barrier of `stretch` and `tree_max` protects what?
#
# <details><summary>Answer</summary>
#
# At the start of a step: the numbers that others wrote in the last step. After the tree: s[0],
# before all threads read it. Before `s[t] = -x[t]`: s[0] again, until the last thread has read it.
#
# </details>

# %% [markdown]
# ## You have
#
# - a softmax that no row can overflow;
# - a tree reduction, its identity, and a reason for each barrier;
# - the count of three passes: 3 reads, 1 write, 8 transfers on film;
# - an oracle and a gate.
#
# **Now lab 1:** `row_max`, `row_sum` and `safe_softmax`, one block a row, any length.
