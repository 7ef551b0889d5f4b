# %% [markdown]
# # 00 · A first kernel
#
# **Question.** Thousands of threads run the same few lines. Which thread touches which number, and
# what does it cost when neighbouring threads touch numbers that lie far apart?

# %% [markdown]
# **You will**
#
# - find the element that belongs to a thread, by hand and in a kernel;
# - predict how many sectors of memory a kernel moves, then count them;
# - pass numbers between threads through shared memory, with one barrier;
# - read an x-ray and a verdict, the two instruments of every lab.

# %% tags=["setup"]
# setup

# %% [markdown]
# The line above says where kernels run from here on. On the **simulator**, Python plays every
# thread and writes down every access. On a **GPU**, the same kernels are compiled.

# %% [markdown]
# This lesson and the next break kernels on purpose, and only the simulator sees how. If the line says
# GPU, write `%env NUMBA_ENABLE_CUDASIM=1` into a new cell above it, restart the kernel and run both.

# %% [markdown]
# ## By hand: four numbers
#
# Copy four numbers with 2 blocks of 2 threads. Every thread runs the same lines and knows two
# numbers: its block, and its place in the block.
#
# | block | thread | i = block × 2 + thread | it does |
# |---|---|---|---|
# | 0 | 0 | 0 | `y[0] = x[0]` |
# | 0 | 1 | 1 | `y[1] = x[1]` |
# | 1 | 0 | 2 | `y[2] = x[2]` |
# | 1 | 1 | 3 | `y[3] = x[3]` |

# %%
from autograder.figures import index_picture, sector_map

index_picture(2, 2, 4, name="x")

# %% [markdown]
# The same as a kernel. `@cuda.jit` marks it, `blockDim.x` is the number of threads in a block. A
# kernel returns nothing: it writes into arrays.

# %%
@cuda.jit
def copy(x, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    y[i] = x[i]


# %% [markdown]
# `copy[2, 2]` says how many: 2 blocks, 2 threads in each. Then come the arrays.

# %%
x = np.array([3, 1, 4, 2], np.float32)
y = np.zeros(4, np.float32)
copy[2, 2](x, y)
print(y)

# %% [markdown]
# ## When the numbers do not fit
#
# **Predict.** Ten numbers, blocks of four. How many blocks do you need, and how many threads have
# nothing to do?
#
# <details><summary>Answer</summary>
#
# Three blocks, since two reach only 8 numbers. That makes 12 threads: the last two have no number.
#
# </details>

# %%
n, threads = 10, 4
blocks = (n + threads - 1) // threads  # n / threads, rounded up
print(blocks, "blocks,", blocks * threads - n, "threads too many")
index_picture(blocks, threads, n, name="x")

# %% [markdown]
# **The next cell fails on purpose**, with a `MemoryFault`, which is an `IndexError`. Threads 10 and 11
# reach past the end of the array. On a GPU such a read may pass in silence and bring back a
# stranger's number. Here **memcheck** stops it and says where.

# %% tags=["raises-exception"]
x = np.arange(10, dtype=np.float32)
y = np.zeros(10, np.float32)
copy[blocks, threads](x, y)

# %% [markdown]
# The cure is one `if`, the **guard**. `cuda.grid(1)` is short for the index that we spelled out
# above.

# %%
@cuda.jit
def copy_guarded(x, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        y[i] = x[i]


copy_guarded[blocks, threads](x, y)
print(y)

# %% [markdown]
# ## Warps and lanes
#
# The threads of a block run in groups of 32. A group is a **warp**, a thread's place in it is its
# **lane**. A warp executes one instruction for all its lanes together. So its 32 loads leave
# together too: they form one **request**.

# %% [markdown]
# **Predict.** Two blocks of 64 threads. Which warp of its block, and which lane, is thread 0? Thread 31? 32? 63?
# And the first thread of block 1?

# %%
@cuda.jit
def who(warp, lane):
    i = cuda.grid(1)
    warp[i] = cuda.threadIdx.x // 32
    lane[i] = cuda.threadIdx.x % 32


# %%
warp, lane = np.zeros((2, 128), np.int32)
who[2, 64](warp, lane)
for i in (0, 31, 32, 63, 64):
    print(f"i = {i:2}   block {i // 64}   warp {warp[i]}   lane {lane[i]:2}")

# %% [markdown]
# Threads count from 0 in each block, and so do warps. Thread 64 of the whole is thread 0 of block 1:
# warp 0, lane 0.

# %% [markdown]
# ## Sectors: what a request costs
#
# Global memory does not deliver single numbers. It delivers **sectors** of 32 bytes: eight float32.
# A request costs as many sectors as its lanes touch, and every sector comes whole:
#
# $$\text{sectors of a request} \;=\; \Big|\big\{\lfloor \text{address}_\ell / 32 \rfloor \;:\; \ell = 0 \dots 31\big\}\Big|$$

# %% [markdown]
# By hand, with four lanes. Element $e$ of a float32 array starts at byte $4e$.
#
# | lanes read elements | bytes | sectors | how many |
# |---|---|---|---|
# | 0, 1, 2, 3 | 0, 4, 8, 12 | 0, 0, 0, 0 | **1** |
# | 0, 8, 16, 24 | 0, 32, 64, 96 | 0, 1, 2, 3 | **4** |

# %% [markdown]
# **Predict** for a full warp of 32 lanes: neighbouring elements; every second element; elements 32
# apart.

# %%
def sectors(elements):
    return len({4 * e // 32 for e in elements})


for step in (1, 2, 32):
    print(f"elements {step} apart: {sectors(range(0, 32 * step, step))} sectors")

# %%
sector_map(range(32), title="Neighbouring elements")

# %%
sector_map(range(0, 1024, 32), title="Elements 32 apart")

# %% [markdown]
# Each of these requests brings the warp 32 numbers, 128 bytes. The second picture moves eight times
# the sectors of the first to do it.

# %% [markdown]
# ## Sums down and sums along
#
# Two kernels add up a matrix that lies in memory row after row. In the first, a thread owns a
# column. `np.float32(0)` keeps the sum in float32: a plain `0.0` is float64 on a GPU.

# %%
@cuda.jit
def sum_down(X, out):
    j = cuda.grid(1)
    if j < X.shape[1]:
        s = np.float32(0)
        for r in range(X.shape[0]):
            s += X[r, j]
        out[j] = s


# %% [markdown]
# In the second, a thread owns a row.

# %%
@cuda.jit
def sum_along(X, out):
    r = cuda.grid(1)
    if r < X.shape[0]:
        s = np.float32(0)
        for j in range(X.shape[1]):
            s += X[r, j]
        out[r] = s


# %% [markdown]
# Both are right. We ask NumPy in float64, not another float32 kernel of ours.

# %%
X = np.random.default_rng(0).normal(size=(32, 32)).astype(np.float32)
down, along = np.zeros((2, 32), np.float32)
sum_down[1, 32](X, down)
sum_along[1, 32](X, along)
print("down is right: ", np.allclose(down, X.sum(axis=0, dtype=np.float64), atol=1e-5))
print("along is right:", np.allclose(along, X.sum(axis=1, dtype=np.float64), atol=1e-5))

# %% [markdown]
# **Predict.** Both read 32 × 32 numbers with one warp: 32 requests. In the first step of
# `sum_down`, the lanes read `X[0, 0]`, `X[0, 1]`, `X[0, 2]` … In `sum_along`, they read `X[0, 0]`,
# `X[1, 0]`, `X[2, 0]` … How many sectors does each kernel load?
#
# <details><summary>Answer</summary>
#
# 32 requests of 4 sectors are 128. 32 requests of 32 sectors are 1,024.
#
# </details>

# %% [markdown]
# ## Read an x-ray
#
# `xray` runs a launch and shows its **ledger**: for every source line that touches memory, the
# requests, the sectors and the bytes that threads asked for. Line 7 of this cell is the load of X.

# %%
xray(sum_down[1, 32], X, down)

# %%
xray(sum_along[1, 32], X, along)

# %% [markdown]
# Under the ledger is a picture: an array from left to right, time downwards. `sum_down` sweeps
# over X once, in order. `sum_along` scatters: red marks a request whose lanes share no sectors.

# %% [markdown]
# The totals side by side. Same requests, same bytes, eight times the sectors.

# %%
for kernel in (sum_down, sum_along):
    t = xray(kernel[1, 32], X, np.zeros(32, np.float32)).traffic
    print(f"{t.load_requests} requests  {t.load_bytes} bytes  {t.load_sectors} sectors")

# %% [markdown]
# **The rule.** Let neighbouring lanes read neighbouring addresses. Then a request of 32 float32
# costs 4 sectors, the fewest that hold them. We call such a request **coalesced**.

# %% [markdown]
# ## One block a row
#
# A row may be longer than a block has threads. So a thread walks in steps of `blockDim.x`. With
# 4 threads and 10 numbers, thread 0 takes 0, 4, 8; thread 1 takes 1, 5, 9; thread 2 takes 2, 6;
# thread 3 takes 3, 7.

# %%
@cuda.jit
def double(X, Y):
    row = cuda.blockIdx.x
    for j in range(cuda.threadIdx.x, X.shape[1], cuda.blockDim.x):
        Y[row, j] = 2 * X[row, j]


# %% [markdown]
# No guard is needed: the range ends at the row's end. At each step the block handles one contiguous
# chunk of the row, a **tile**. Inside a tile, neighbouring lanes read neighbouring addresses.

# %%
X = np.arange(30, dtype=np.float32).reshape(3, 10)
Y = np.zeros_like(X)
double[3, 4](X, Y)
print(Y)

# %% [markdown]
# **Predict.** Rows of 128 numbers, one warp a row. How many tiles does the picture show, and how many
# sectors does a request cost?

# %%
X = np.ones((2, 128), np.float32)
xray(double[2, 32], X, np.zeros_like(X))

# %% [markdown]
# Four tiles, one after the other; 4 sectors a request. Any length, any number of rows:
# `[rows, threads]` is the launch of nearly every kernel in this course.

# %% [markdown]
# ## Shared memory and one barrier
#
# Threads of one block can hand each other numbers through **shared memory**: small, fast, one piece
# per block. By hand, mirror four numbers:
#
# | | thread 0 | 1 | 2 | 3 |
# |---|---|---|---|---|
# | writes | `s[0]` ← 3 | `s[1]` ← 1 | `s[2]` ← 4 | `s[3]` ← 2 |
# | then reads | `s[3]` | `s[2]` | `s[1]` | `s[0]` |
# | gets | 2 | 4 | 1 | 3 |

# %% [markdown]
# Every thread reads what *another* thread wrote. It must not do so before that thread has written.
# `cuda.syncthreads()` is the **barrier**: nobody goes on until all threads of the block are there.

# %%
THREADS = 64


@cuda.jit
def mirror(x, y):
    s = cuda.shared.array(THREADS, numba.float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()  # before reading what others wrote
    y[t] = s[THREADS - 1 - t]


# %% [markdown]
# The length of a shared array must be a constant, because the compiler lays it out. It starts with no
# value at all: not zero.

# %%
x = np.arange(64, dtype=np.float32)
y = np.zeros_like(x)
mirror[1, 64](x, y)
print(np.array_equal(y, x[::-1]))

# %% [markdown]
# ## Where it breaks: the same kernel without its barrier

# %%
@cuda.jit
def mirror_hasty(x, y):
    s = cuda.shared.array(THREADS, numba.float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    y[t] = s[THREADS - 1 - t]


# %% [markdown]
# **Predict.** A GPU runs threads in an order of its own. The simulator lets you choose. If threads
# run forward, 0 first, each until it has to wait: which of the 64 results are wrong? And if they run in reverse?

# %%
from autograder.simulator import launch

for order in ("forward", "reverse"):
    y = np.zeros_like(x)
    trace = launch(mirror_hasty, 1, 64, (x, y), order=order)
    wrong = np.flatnonzero(y != x[::-1])
    print(f"{order}: y[0] = {y[0]}, y[63] = {y[63]},", end=" ")
    print(f"wrong in threads {wrong[0]} to {wrong[-1]}")

# %% [markdown]
# Forward, thread 0 reads `s[63]` before thread 63 has written it. In reverse it is the other half.
# The simulator fills shared memory with NaN first, so the mistake shows. On a GPU you may see
# yesterday's numbers, or the right ones, until one day you do not.

# %% [markdown]
# You need not guess. The simulator reports what a sanitizer on a GPU would.

# %%
finding = trace.findings[0]
print(finding.tool, "·", finding.message)

# %% [markdown]
# With the barrier, no order gives another answer, and there is nothing to report.

# %%
for order in ("forward", "reverse", 1, 2):  # 1 and 2: shuffled orders
    trace = launch(mirror, 1, 64, (x, y), order=order)
    print(np.array_equal(y, x[::-1]), trace.findings_total)

# %% [markdown]
# One more rule: **all** threads of the block must reach the same barrier. A `syncthreads()` inside
# an `if` that only some threads enter leaves the others waiting. Close the `if` first.

# %% [markdown]
# ## What the simulator can say
#
# | it says | it cannot say |
# |---|---|
# | the values, in float32 arithmetic | the last bit of a GPU's `exp` |
# | requests, sectors, bytes, line by line | how long it takes, what caches keep |
# | who reads or writes out of range | what the GPU's compiler accepts |
# | which results depend on thread order | how many registers it uses |

# %% [markdown]
# The counts are the GPU's own. When this course was designed, Nsight Compute on an H200 counted 12,288
# load sectors for a three-pass softmax of 8 × 4,096 floats, and so does the simulator. Sectors are
# counted before any cache.

# %% [markdown]
# ## Read a verdict
#
# In a lab, a check judges your kernel on many inputs. Here is a kernel for the maximum of a row that
# is wrong on purpose: it starts at 0, and one thread does all the work.

# %%
@cuda.jit
def row_max(X, out):
    row = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        m = np.float32(0)  # wrong: what if all numbers are negative?
        for j in range(X.shape[1]):
            m = max(m, X[row, j])
        out[row] = m


# %% [markdown]
# `values` tries ordinary rows, short and long. Some number in each of them is positive, so nothing
# shows.

# %%
check("lab1.row_max.values", row_max)

# %% [markdown]
# `rescale` tries loud rows. **Predict**: on which rows does the kernel fail?

# %%
check("lab1.row_max.rescale", row_max)

# %% [markdown]
# Read it from the top: the check and its points; each case that failed, the place, what was expected and
# what was found; then known mistakes that would give the same output. The last line, a number, is
# what the cell earns.

# %% [markdown]
# `traffic` compares the ledger with a budget. The bytes are right here. But one thread alone makes a
# request for each number, and each request brings a sector.

# %%
check("lab1.row_max.traffic", row_max)

# %% [markdown]
# The fourth check, `safety`, looks for accesses out of range, races and barriers that a thread
# misses, with threads in several orders.

# %% [markdown]
# ## Check yourself
#
# **1.** A launch `[5, 128]` must cover 600 numbers. Is a guard needed, and which threads does it hold back?
#
# <details><summary>Answer</summary>
#
# Yes: 640 threads, 40 too many. They are threads 88 to 127 of block 4.
#
# </details>

# %% [markdown]
# **2.** Every lane of a warp reads the same element. How many sectors? And if lane ℓ reads element
# ℓ + 1?
#
# <details><summary>Answer</summary>
#
# One: 32 equal addresses lie in one sector. Shifted by one element, 32 neighbours span bytes 4 to
# 131 and touch five sectors, not four.
#
# </details>

# %%
print(sectors([7] * 32), sectors(range(1, 33)))

# %% [markdown]
# **3.** Why does `mirror` need a barrier when `copy` does not?
#
# <details><summary>Answer</summary>
#
# In `copy` a thread reads only what no thread writes. In `mirror` it reads what another thread of
# the block wrote. The barrier puts all writes before all reads.
#
# </details>

# %% [markdown]
# ## You have
#
# - an index for every thread, and a guard or a range that ends it;
# - sectors counted by hand and by x-ray: neighbours read neighbours;
# - shared memory, and the barrier before reading what others wrote;
# - a verdict that you can read.
#
# **Next:** lesson 01, then lab 1.
