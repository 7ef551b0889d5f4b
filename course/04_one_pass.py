# %% [markdown]
# # 04 · One pass
#
# **Question.** Three passes became two. Can softmax read its row once? And when a kernel gets faster, how do you know
# *what* you removed: arithmetic, or traffic?

# %% [markdown]
# **You will**
#
# - tell removed arithmetic from removed traffic, with two instruments;
# - say why one read needs a place for the row;
# - keep a row in shared memory, and in registers;
# - read a compiler's report: registers, local memory, blocks at a time;
# - choose a kernel, and see all versions on one ladder.

# %% tags=["setup"]
# setup

# %% [markdown]
# ## By hand: 3 1 4 2
#
# Online softmax reads 3 1 4 2 and ends with m = 4, d = 1.5530. Now it must write e^(3−4)/d first. Where
# does the 3 come from?
#
# | | has seen | still holds |
# |---|---|---|
# | after 3 | 3 | m = 3, d = 1 |
# | after 4 | 3 1 4 | m = 4, d = 1.4177 |
# | after 2 | 3 1 4 2 | m = 4, d = 1.5530 |

# %% [markdown]
# The 3 is gone: two numbers remember no row. So read it again, which is the second pass. Or have kept
# it.
#
# **Predict** the film of 3 1 4 2 8 5 7 6 when the row is kept. Three passes took 8 transfers, online 6.

# %%
from autograder.figures import film_player, transfer_film

strip = transfer_film(kind="one_pass", columns=4)
print(f"{strip.fetches} fetches + {strip.stores} stores = {strip.transfers}")
film_player(strip)

# %% [markdown]
# Four: each tile comes in once, each leaves once. No kernel can do with fewer, since every input can
# change every output.
#
# **The rule.** One read needs a place for the whole row:
#
# $$\text{row kept: } 1 \text{ read} + 1 \text{ write} \qquad \text{only } (m, d) \text{ kept: } 2 \text{ reads} + 1 \text{ write}$$

# %% [markdown]
# ## Why one read needs a place
#
# Could a cleverer recurrence write each output when its number passes? **Predict** the first output of
# 3 1 4 and of 3 1 9: what must a kernel know before it may write it?

# %%
for row in ([3, 1, 4], [3, 1, 9]):
    terms = np.exp(np.array(row) - max(row))
    print(row, "->", np.round(terms / terms.sum(), 4))

# %% [markdown]
# The last number decides over the first output. So nothing may be written before everything was read,
# and by then the whole row is needed once more. Online softmax does not give one read for any length,
# and no other trick does.

# %% [markdown]
# ## Two instruments
#
# Removing **arithmetic** and removing **traffic** are different optimisations. Fewer exponentials show
# in time, or not at all; fewer reads show in sectors, and in time only if memory was what the kernel
# waited for.

# %% [markdown]
# | instrument | says | is blind to |
# |---|---|---|
# | issued sectors | 32-byte pieces that the kernel's loads and stores ask for | caches, time |
# | DRAM bytes (a profiler) | what really left the chip | work that the cache hides |
# | time | what a user waits for | why |
#
# Our metric is the first: it is a property of the *kernel*, the same on every card.

# %% [markdown]
# A cousin of softmax: **centre** a row, y = x − mean. No output before the last input here, too. It
# reads the row twice:

# %%
f32 = numba.float32


@cuda.jit(device=True)
def block_sum(value, red):
    """The sum over 256 threads, for each of them. red: shared float32 [256]."""
    t = cuda.threadIdx.x
    red[t] = value
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            red[t] += red[t + half]
        cuda.syncthreads()
        half //= 2
    return red[0]


# %%
@cuda.jit
def centre_twice(X, Y):
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    red = cuda.shared.array(256, f32)
    total = f32(0.0)
    for j in range(t, n, 256):
        total += X[row, j]
    mean = block_sum(total, red) / f32(n)
    for j in range(t, n, 256):
        Y[row, j] = X[row, j] - mean


# %% [markdown]
# **Predict.** X is 2 × 1,024 floats, a sector holds 8. How many load sectors, how many store sectors?

# %%
X = np.random.default_rng(4).normal(size=(2, 1024)).astype(np.float32)
Y = np.zeros_like(X)
twice = xray(centre_twice[2, 256], X, Y).traffic
print(twice.load_sectors, "load sectors,", twice.store_sectors, "store sectors")
print("right:", np.allclose(Y, X - X.mean(axis=1, keepdims=True), atol=1e-6))

# %% [markdown]
# On a GPU the second read may well cost little time: the block read that row a moment ago, and it is
# still in a cache. In lesson 03's recorded times three passes and the two-pass tree differ by 13 %,
# while their sectors differ by a third. Time hid a read; sectors did not.

# %% [markdown]
# <details><summary>Then why count it?</summary>
#
# Because the cache is not yours. Another row length, more blocks at a time or a smaller card, and the
# row has left it before the second read. A kernel that does not ask again cannot lose that race.
#
# </details>

# %% [markdown]
# ## Keep the row: shared memory
#
# A block has 48 KiB of shared memory that numba can reserve by a constant: 12,288 floats. Store each
# value while it passes, and read it from there afterwards.

# %%
@cuda.jit
def centre_shared(X, Y):
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    cache = cuda.shared.array(4096, f32)  # a constant: rows up to 4,096
    red = cuda.shared.array(256, f32)
    total = f32(0.0)
    for j in range(t, n, 256):
        x = X[row, j]
        cache[j] = x
        total += x
    mean = block_sum(total, red) / f32(n)
    for j in range(t, n, 256):
        Y[row, j] = cache[j] - mean


# %% [markdown]
# **Predict** both counts before you run it.

# %%
kept = xray(centre_shared[2, 256], X, Y)
print(kept.traffic.load_sectors, "load sectors,", kept.traffic.store_sectors, "store sectors")
kept

# %% [markdown]
# The lane of X is one sweep now. Bars, to one scale:

# %%
from autograder.figures import traffic_bars

both = [("twice", twice), ("kept in shared memory", kept.traffic)]
traffic_bars(both, unit="sectors", title="Centre 2 × 1,024")

# %% [markdown]
# **What it costs.** A multiprocessor's shared memory is divided among its blocks. **Predict**: if 100
# KiB are free for blocks, how many blocks with a cache of 16 KiB run there at a time, and how many with
# 48 KiB?

# %%
for kib in (4, 16, 48):
    print(f"{kib:2} KiB a block, rows up to {kib * 256:6,}: {100 // kib:2} blocks in 100 KiB")

# %% [markdown]
# A long cache for a short row is room that other blocks could use. So a row cache has a limit in
# length, and a price below it.

# %% [markdown]
# ## Where it breaks: whose values are these?
#
# In `centre_shared` a thread reads only what it stored itself, so the cache needs no barrier. Change
# the layout of the second walk, and it does. This kernel sums neighbours, which other threads stored:

# %%
@cuda.jit
def sum_of_chunks(X, out):
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    cache = cuda.shared.array(1024, f32)
    for j in range(t, n, 32):
        cache[j] = X[row, j]
    total = f32(0.0)
    for j in range(t * (n // 32), (t + 1) * (n // 32)):  # a chunk of neighbours
        total += cache[j]
    out[row, t] = total


# %%
look = xray(sum_of_chunks[1, 32], X[:1].copy(), np.zeros((1, 32), np.float32))
for sentence in look.findings[:2]:
    print("-", sentence)

# %% [markdown]
# A barrier between the loops mends it. Or walk both loops in one layout, and need none.
#
# Two more traps: past column n the cache holds what another block left there, and X or Y cannot serve
# as a cache, since they lie in global memory.

# %% [markdown]
# ## Keep the row: registers
#
# Shared memory is for values that threads exchange. Here nobody exchanges any: each thread reads back
# its own. So keep them in the thread's **registers**: `cuda.local.array(32, float32)`, 256 threads × 32
# slots = 8,192 floats.

# %%
@cuda.jit
def centre_registers(X, Y):
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    slots = cuda.local.array(32, f32)
    red = cuda.shared.array(256, f32)
    total = f32(0.0)
    for k in range(32):
        x = f32(0.0)  # past the end: the identity of the sum
        if t + 256 * k < n:
            x = X[row, t + 256 * k]
        slots[k] = x
        total += x
    mean = block_sum(total, red) / f32(n)
    for k in range(32):
        if t + 256 * k < n:
            Y[row, t + 256 * k] = slots[k] - mean


# %%
registers = xray(centre_registers[2, 256], X, Y).traffic
print(registers.load_sectors, "load sectors,", registers.store_sectors, "store sectors")

# %% [markdown]
# ## Which numbers a thread keeps
#
# Slot k holds column t + 256·k, so the lanes of a warp fill slot k from neighbours. It would be natural
# to give each thread four neighbours instead. **Predict** the sectors of its first request.

# %%
from autograder.figures import sector_map

sector_map(range(0, 128, 4), title="Four neighbours a thread, one by one: the first request")

# %%
@cuda.jit
def copy_neighbours(X, Y):
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    for first in range(4 * t, n, 1024):
        for i in range(4):
            Y[row, first + i] = X[row, first + i]


four = xray(copy_neighbours[2, 256], X, Y).traffic
print(four.load_sectors, "load sectors for", X.size // 8, "sectors of data")

# %% [markdown]
# Four times as many: each request takes every fourth float. An H200's profiler counted the same factor,
# 16,384 against 4,096 for 8 × 4,096. With 16-byte loads (`load4`) four neighbours are right: one
# request takes all four.

# %% [markdown]
# ## Local memory in disguise
#
# A register has no address: machine code names it, as in `r17`. So `slots[k]` can be a register only
# where the compiler *knows* k. In `for k in range(32)` it does: it writes the loop out, with k = 0, 1,
# 2 …

# %% [markdown]
# In `for k in range(used)`, with a bound that comes from n, it does not. Then the slots need addresses,
# and they get **local memory**: private in name, but it lies where global memory lies.
#
# **Predict**: which of these reports has 128 bytes of stack, 32 slots × 4?

# %% [markdown]
# What the compiler says about right kernels of lab 4, for three cards (recorded with
# `course/data/registers.py`, which needs no GPU):
#
# | kernel | registers: T4 | A100 | H200 | stack |
# |---|---|---|---|---|
# | row cache, shared memory | 36 | 32 | 32 | 0 |
# | 32 slots, constant loop, padded with −inf | 64 | 64 | 56 | 0 |
# | 32 slots, constant loop, each use guarded | 79 | 103 | 90 | 0 |
# | 32 slots, 16-byte loads | 72 | 80 | 88 | 0 |
# | 32 slots, loop to a run-time bound | 44 | 32 | 32 | 128 |

# %% [markdown]
# The last line looks cheapest, and is the worst: its values are not in registers at all. All five give
# the same numbers, and the same sectors of X and Y. Neither the values nor our metric show it; the
# compiler's report does.

# %% [markdown]
# ## More registers, fewer blocks
#
# A multiprocessor has 65,536 registers for all its threads. **Predict**: how many blocks of 256 threads
# fit with 32 registers a thread, and with 92?

# %%
for slots, used in ((8, 40), (16, 40), (32, 56), (64, 92)):
    blocks = 65536 // (256 * used)
    print(f"{slots:2} slots, rows up to {256 * slots:6,}: {used} registers, {blocks} blocks")

# %% [markdown]
# Fewer blocks at a time mean fewer requests on their way, and nobody works while a block waits. And there is an end: the same kernel with 128 slots was given 512 bytes of stack. The loop is
# no longer written out, and all slots fall into local memory.
#
# These registers are the H200's, from the same record.

# %% [markdown]
# ## Choosing
#
# | situation | kernel |
# |---|---|
# | n ≤ 8,192 | register cache: one read, one write |
# | longer rows | two passes: lab 3's shuffles, any length |
# | very many short rows | grid stride around either |
# | one very long row | several blocks, merge their (m, d) |
# | inside attention | no kernel: the state rides along (lab 5) |

# %%
for n in (1024, 8192, 8193, 131072):
    transfers = 2 if n <= 8192 else 3
    mib = transfers * 4 * 4096 * n / 2**20
    print(f"n = {n:7,}: {transfers} transfers, {mib:7,.0f} MiB for 4,096 rows")

# %% [markdown]
# And the shuffle version stays the one to learn from and to extend: its state (m, d) works for any
# length, any number of blocks, and for what comes next.

# %% [markdown]
# ## The ladder
#
# All versions of the course on one array, 32 rows of 512, counted now. **Predict** the order by
# sectors, and which versions are equal.

# %%
from importlib import import_module


def counted(where, grid, block):
    """Load and store sectors of one of the course's own kernels on X [32, 512]."""
    module = import_module(f"autograder.exercises.kernels.{where}")
    kernel = getattr(module, where.split(".")[0].split("_", 1)[1])
    X = np.random.default_rng(0).normal(size=(32, 512)).astype(np.float32)
    return xray(kernel[grid, block], X, np.zeros_like(X)).traffic


# %%
versions = {
    "one thread a row": ("lab2_online_softmax_rows.running", 1, 64),
    "three passes": ("lab1_safe_softmax.strided", 32, 256),
    "online, tile by tile": ("lab2_online_softmax_tiled.tile_by_tile", 32, 256),
    "online, shuffles": ("lab3_online_softmax_warp.plain", 32, 256),
    "online, 16-byte loads": ("lab3_online_softmax_vec4.plain", 32, 256),
    "row cache": ("lab4_softmax_row_cache.two_reductions", 32, 256),
    "register cache": ("lab4_softmax_register_cache.two_reductions", 32, 256),
    "register cache, 16 bytes": ("lab4_softmax_register_cache.sixteen_bytes", 32, 256),
}
ladder = {name: counted(*what) for name, what in versions.items()}
traffic_bars(list(ladder.items()), unit="sectors", title="Softmax of 32 × 512, loads and stores")

# %% [markdown]
# Requests, the other count, tell apart what sectors cannot: 16-byte loads move the same sectors in a
# quarter of the requests.

# %%
traffic_bars(list(ladder.items()), unit="requests", title="The same kernels, requests")

# %% [markdown]
# **Times beside it.** Float32 32,768 × 4,096 on an H200. The first five were recorded with
# `benchmarks/merge_reduce.py`, the two caches of lab 4 with `benchmarks/one_pass.py`, all with 256 threads a
# block; the last three were measured when this course was designed.
#
# | kernel | reads of X | ms |
# |---|---|---|
# | online, tile by tile | 2 | 0.898 |
# | online, shuffles | 2 | 0.701 |
# | three passes | 3 | 0.651 |
# | online, tree | 2 | 0.575 |
# | online, tree, 16-byte loads | 2 | 0.375 |
# | row cache, lab 4 | 1 | 0.542 |
# | register cache, lab 4 | 1 | 0.511 |
# | one pass, scalar loads, tuned | 1 | 0.293 to 0.392 |
# | one pass, 16-byte loads, 512 threads | 1 | 0.257 |
# | the device's own copy | 1 | 0.258 |

# %% [markdown]
# Read the two columns against each other. Three passes beat two kernels that read less: those were held
# up by arithmetic and barriers. Two reads in 16-byte loads beat both caches of lab 4, too. One read, wide
# loads and more threads together take as long as copying the array: nothing is left to save.

# %% [markdown]
# **The same order elsewhere.** A public CUDA tutorial reports softmax of 4,096 × 4,096 float32 on an
# A100 80 GB, as a share of the card's bandwidth:
#
# | version | share |
# |---|---|
# | one thread a row | 7 % |
# | block and warp shuffles | 58 % |
# | 16-byte loads | 70 % |
# | grid stride | 72 % |
# | register cache, one pass | 82 % |

# %% [markdown]
# ## Check yourself
#
# **1.** Which pass does each version remove?
#
# <details><summary>Answer</summary>
#
# Online softmax removes the pass for the maximum: m and d come out of one walk. The row cache removes
# the second read of that walk's values for the output. The write, and one read, stay.
#
# </details>

# %% [markdown]
# **2.** What limits n?
#
# <details><summary>Answer</summary>
#
# The place for the row. Shared memory: 48 KiB a block by a constant, 12,288 floats less what the
# reductions need. Registers: slots times threads, as long as the compiler keeps the slots in registers:
# 32 × 256 = 8,192 here.
#
# </details>

# %% [markdown]
# **3.** Why can a faster kernel that moves the same bytes be no progress?
#
# <details><summary>Answer</summary>
#
# It may be faster because a cache answered, on this card and at this size. Or because arithmetic was
# removed that was never the limit elsewhere. The bytes are still asked for, and where the cache does
# not help they cost again. Look at both instruments.
#
# </details>

# %% [markdown]
# ## You have
#
# - two instruments, and what each is blind to;
# - the floor: one read, one write, and a place for the row;
# - a row cache in shared memory, and its one barrier question;
# - 32 slots a thread, with indices that the compiler knows;
# - the ladder of all versions, and a rule for choosing.
#
# **Now lab 4:** `softmax_row_cache`, `softmax_register_cache`, `choose_softmax`.
