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
# # Lab 5: online attention
#
# Attention is a softmax between two matrix products. Done in three kernels, it sends an n × n matrix
# through global memory five times. You give the state `(m, d)` an accumulator and write it as one kernel,
# without the matrix. Bytes first: predict, count, and only then time.

# %% [markdown]
# ## You will
#
# * derive the bytes of both ways, and see them in the counts
# * carry `m`, `d` and `O` for 16 queries at once, and divide once at the end
# * hold your kernel against two gates
# * count bank conflicts, with padding and without
# * write the scores that expose a kernel which forgets to rescale `O`

# %% [markdown]
# ## Before you start
#
# Read lesson 05 and finish lab 2; lab 3 helps. **Time.** About 4 hours.
#
# On your machine: `make lab`; the README has the same without make. On Colab: open this notebook and
# run the first cell, which installs what is missing. *Runtime → Change runtime type → T4* gives a real
# GPU. Without one, the simulator runs the same code.

# %% [markdown]
# ## Points
#
# | | values | rescale | traffic | safety | answer | total |
# |---|---|---|---|---|---|---|
# | 1 `naive_bytes` | | | | | 1 | 1 |
# | 2 `online_bytes` | | | | | 1 | 1 |
# | 3 `online_attention` | 3 | 4 | 2 | 2 | | 11 |
# | 4 `breaking_value` | | | | | 1 | 1 |
# | 5 in your words | | | | | 2, read by a person | 2 |

# %% [markdown]
# Each graded cell is one `check`. Its last line is what you earned; a check with several groups of
# cases gives part of its points for part of the groups. Run it as often as you like. Grading runs the
# same kinds of inputs with other numbers.

# %% tags=["setup"]
# setup

# %%
WIDTH = 64  # of a query, a key, a value and an output: d in the formulas
QUERIES = 16  # of a block: the query tile
KEYS = 32  # that a block takes at once: the key tile
LANES = 8  # threads that share a query row
THREADS = 128  # of a block: 16 rows of 8 lanes
COLUMNS = 8  # of O that a thread keeps: 8 lanes of 8 columns make 64
PITCH = 64  # words from a row of a shared tile to the next

# %% [markdown]
# ## The rule
#
# Start from $m = -\infty$, $d = 0$, $O = 0$. For a key with score $s$ and value $v$:
#
# $$m_{\text{new}} = \max(m, s), \qquad d_{\text{new}} = d\,e^{m - m_{\text{new}}} + e^{s - m_{\text{new}}}, \qquad
# O_{\text{new}} = O\,e^{m - m_{\text{new}}} + e^{s - m_{\text{new}}}\,v$$
#
# At the end, and only there, the output is $O / d$.

# %% [markdown]
# One factor corrects `d` and all 64 columns of `O`. The film shows one query with 8 keys in tiles of two,
# and values one number wide. **Predict** before you step: in which tile is the factor 1?

# %%
from autograder.figures import attention_film, film_player, growth_bars

film_player(attention_film(columns=3))

# %% [markdown]
# ## Exercise 1: bytes of the naive way
#
# **Goal.** `naive_bytes(n, d)`: bytes that three kernels move, for n queries and n keys of width d,
# float32. Charge `Q`, `K`, `V` and `O` **once** each; its products may re-read them for free. The n × n matrix
# is charged in full.

# %% [markdown]
# **Picture.** One buffer `S` of n × n serves scores and weights. Its softmax is the online one of lab 2, in
# place.
#
# | kernel | reads | writes |
# |---|---|---|
# | scores | Q, K | S |
# | softmax | S, and S again | S |
# | output | S, V | O |

# %% [markdown]
# **Your formula.** A function of two whole numbers. Only arithmetic is allowed in it.


# %% nbgrader={"grade_id": "naive_bytes", "solution": true}
def naive_bytes(n, d):
    """Bytes of three-kernel attention, float32: the n x n matrix in full, Q, K, V and O once."""
    ### BEGIN SOLUTION
    matrix = 5 * n * n  # written; read twice and written; read
    return 4 * (matrix + 4 * n * d)
    ### END SOLUTION


# %% nbgrader={"grade_id": "naive_bytes_answer", "grade": true, "points": 1}
check("lab5.naive_bytes.answer", naive_bytes)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# Count crossings, then numbers, then bytes. How many of the table's entries are an S?
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Crossings of `S` times n·n, plus four arrays of n·d, all times the bytes of a float32.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the line</summary>
#
# `S` crosses five times: 1 + 3 + 1. With 4 bytes a number that is 20·n·n. What do the four small arrays add?
#
# </details>

# %% [markdown]
# **If it fails**
#
# | symptom | cause |
# |---|---|
# | a quarter of the answer | numbers counted, not bytes |
# | too small by a multiple of 4·n² | a crossing is missing: the softmax reads twice and writes |
# | too large by 4·n² | the three passes of lab 1; the online softmax reads twice |
# | too small by 16·n·d | `Q`, `K`, `V` and `O` are left out |

# %% [markdown]
# **Self-check.** Both products take 2·n²·d operations. Why is the number of operations for each byte nearly
# the same at every n?
#
# <details><summary>Answer</summary>
#
# 4n²d operations over about 20n² bytes: n² cancels, and 4·64/20 = 12.8 is left. More keys bring more
# work and more matrix alike.
#
# </details>

# %% [markdown]
# ## Exercise 2: bytes of the online way
#
# **Goal.** `online_bytes(n, d, query_tile)`: one kernel. A block holds `query_tile` queries and walks
# along all keys. `Q` and `O` cross once in all, `K` and `V` once **for each block**. The last block may be
# ragged; it walks along all keys, too.

# %% [markdown]
# **Example.** n = 10 queries in tiles of 4 are 3 blocks: 4 + 4 + 2. `Q` crosses once, a third part with each
# block, and `K` three times.

# %% nbgrader={"grade_id": "online_bytes", "solution": true}
def online_bytes(n, d, query_tile):
    """Bytes of online attention, float32: Q and O once, K and V once for each block of query_tile queries."""
    ### BEGIN SOLUTION
    blocks = (n + query_tile - 1) // query_tile  # rounded up
    return 4 * (2 * n * d + 2 * n * d * blocks)
    ### END SOLUTION


# %% nbgrader={"grade_id": "online_bytes_answer", "grade": true, "points": 1}
check("lab5.online_bytes.answer", online_bytes)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# No block knows what another has loaded. So the keys cross as often as there are blocks.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Blocks, rounded up. Then two arrays that cross once and two that cross once a block, each of n·d
# numbers of 4 bytes.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the line</summary>
#
# Rounding up with whole numbers: `(n + query_tile - 1) // query_tile`.
#
# </details>

# %% [markdown]
# **If it fails**
#
# | symptom | cause |
# |---|---|
# | right only where the tile divides n | rounded down: the ragged block is lost |
# | 16·n·d at every tile | `K` and `V` counted once for all blocks |
# | far too large | read once a query, or `Q` and `O` counted for every block |
# | a quarter of the answer | numbers counted, not bytes |

# %% [markdown]
# **Predict**, then run: the ratio naive/online at n = 4,096, d = 64, when all queries are in one block. And
# with tiles of 16, as in your kernel: still above 1?

# %%
MIB = 2**20
try:
    for query_tile in (16, 32, 64, 128, 4096):
        a, b = naive_bytes(4096, 64), online_bytes(4096, 64, query_tile)
        print(f"tile {query_tile:4}: naive {a / MIB:.0f} MiB, online {b / MIB:3.0f} MiB, {a / b:5.2f}×")
except NotImplementedError:
    print("The formulas are not written yet.")

# %%
try:
    sizes = (256, 1024, 4096, 16384)
    rows = [(f"n = {n:,}", naive_bytes(n, 64), online_bytes(n, 64, n)) for n in sizes]
    display(growth_bars(rows, names=("naive", "each array once"), title="Bytes, one head, d = 64"))
except (NotImplementedError, TypeError, ValueError):
    print("Needs both formulas.")

# %% [markdown]
# 81.0× is the floor: each array once. A block of 16 re-reads `K` and `V` 256 times, and asks for *more*
# bytes than naive's matrix. It is a small tile, which suits the simulator. Naive's own products re-read as
# well; the next section counts everything.

# %% [markdown]
# ## The naive path, given
#
# Fair: the same tiles, the same loads, the same threads as in your kernel. Read it well; you may use
# these two helpers.


# %%
@cuda.jit(device=True)
def copy_tile(source, first, rows, tile):
    """Rows first, first + 1, ... of source [n, WIDTH] into tile, as far as they exist; the whole block helps."""
    for i in range(cuda.threadIdx.x, rows * WIDTH, THREADS):
        if first + i // WIDTH < source.shape[0]:
            tile[i // WIDTH, i % WIDTH] = source[first + i // WIDTH, i % WIDTH]


@cuda.jit(device=True)
def dot(q_tile, row, k_tile, j):
    """Row of q_tile times row j of k_tile: a score without its scale."""
    total = numba.float32(0.0)
    for c in range(WIDTH):
        total += q_tile[row, c] * k_tile[j, c]
    return total


# %% [markdown]
# Thread t works for query row `t // 8` of its block and is lane `t % 8` of that row. Of the scores it
# computes every eighth key.


# %%
@cuda.jit
def scores_kernel(Q, K, S, scale):
    """S [n_q, n_k] = Q K^T scale; grid [ceil(n_q / 16), ceil(n_k / 32)]."""
    q_tile = cuda.shared.array((QUERIES, PITCH), numba.float32)
    k_tile = cuda.shared.array((KEYS, PITCH), numba.float32)
    row, lane = cuda.threadIdx.x // LANES, cuda.threadIdx.x % LANES
    first_query, first_key = cuda.blockIdx.x * QUERIES, cuda.blockIdx.y * KEYS
    copy_tile(Q, first_query, QUERIES, q_tile)
    copy_tile(K, first_key, KEYS, k_tile)
    cuda.syncthreads()  # the tiles are complete
    if first_query + row < S.shape[0]:
        for j in range(lane, min(KEYS, S.shape[1] - first_key), LANES):
            S[first_query + row, first_key + j] = dot(q_tile, row, k_tile, j) * scale


# %%
@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    """The state of both parts, as in lab 3."""
    m = max(m1, m2)
    if m == -math.inf:  # two empty states
        return m, numba.float32(0.0)
    return m, d1 * math.exp(m1 - m) + d2 * math.exp(m2 - m)


@cuda.jit
def softmax_kernel(S):
    """Softmax of each row of S, in place: S is read twice and written once; grid [n_q]."""
    ms = cuda.shared.array(THREADS, numba.float32)
    ds = cuda.shared.array(THREADS, numba.float32)
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, S.shape[1]
    m, d = numba.float32(-math.inf), numba.float32(0.0)
    for j in range(t, n, THREADS):
        m, d = merge(m, d, S[row, j], numba.float32(1.0))
    ms[t], ds[t] = m, d
    half = THREADS // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            ms[t], ds[t] = merge(ms[t], ds[t], ms[t + half], ds[t + half])
        half //= 2
    cuda.syncthreads()
    for j in range(t, n, THREADS):
        S[row, j] = math.exp(S[row, j] - ms[0]) / ds[0]


# %% [markdown]
# The output kernel walks along the keys. Of the 64 columns a thread keeps every eighth, in `acc`.


# %%
@cuda.jit
def output_kernel(S, V, O):
    """O [n_q, WIDTH] = S V; grid [ceil(n_q / 16)]."""
    p_tile = cuda.shared.array((QUERIES, KEYS), numba.float32)
    v_tile = cuda.shared.array((KEYS, PITCH), numba.float32)
    acc = cuda.local.array(COLUMNS, numba.float32)
    row, lane = cuda.threadIdx.x // LANES, cuda.threadIdx.x % LANES
    query = cuda.blockIdx.x * QUERIES + row
    for c in range(COLUMNS):
        acc[c] = 0.0
    for first_key in range(0, S.shape[1], KEYS):
        keys = min(KEYS, S.shape[1] - first_key) if query < S.shape[0] else 0
        for j in range(lane, keys, LANES):
            p_tile[row, j] = S[query, first_key + j]
        copy_tile(V, first_key, KEYS, v_tile)
        cuda.syncthreads()  # the tiles are complete
        for j in range(keys):
            p = p_tile[row, j]
            for c in range(COLUMNS):
                acc[c] += p * v_tile[j, lane + LANES * c]
        cuda.syncthreads()  # all are done with them
    if query < O.shape[0]:
        for c in range(COLUMNS):
            O[query, lane + LANES * c] = acc[c]


# %% [markdown]
# **Write your predictions down** before you count: sectors (of 32 bytes) for n = 64, d = 64, where 32 divides
# everything.


# %% nbgrader={"grade_id": "predictions", "solution": true}
def predictions():
    """(sectors of S in all three kernels, sectors of K in yours, sectors of Q in yours) at n = 64, d = 64."""
    ### BEGIN SOLUTION
    n, d = 64, 64
    array = 4 * n * d // 32
    return 20 * n * n // 32, array * n // QUERIES, array
    ### END SOLUTION


# %%
def sectors(look, array):
    """Sectors of one array in a look, loads and stores."""
    return sum(row.sectors for row in look.rows if row.array == array)


rng = np.random.default_rng(5)
n, scale = 64, np.float32(0.125)
Q, K, V = rng.normal(size=(3, n, WIDTH)).astype(np.float32)
K[n - 3] = 160 * Q[0] / (Q[0] @ Q[0])  # a loud key in the last tile: query 0 scores it 20
S = np.full((n, n), np.nan, dtype=np.float32)
O_naive = np.full((n, WIDTH), np.nan, dtype=np.float32)

# %%
blocks = -(-n // QUERIES)
naive_looks = [
    xray(scores_kernel[(blocks, -(-n // KEYS)), THREADS], Q, K, S, scale),
    xray(softmax_kernel[n, THREADS], S),
    xray(output_kernel[blocks, THREADS], S, V, O_naive),
]
for look in naive_looks:
    counts = ", ".join(f"{array} {sectors(look, array)}" for array in "SQKVO" if sectors(look, array))
    print(f"{look.kernel:14} sectors: {counts}")
print("matrix, counted: ", sum(sectors(look, "S") for look in naive_looks))
print("matrix, 20 n² / 32:", 20 * n * n // 32)

# %%
try:
    print("your predictions (S, K, Q):", predictions())
except NotImplementedError:
    print("Write your predictions down first.")

# %% [markdown]
# `K` crosses 4 times in the scores, `V` 4 times in the output: once for each block of 16 queries, as in your
# kernel. `Q` crosses twice, once for each key tile; your kernel saves that, too.

# %% [markdown]
# ## Exercise 3: online attention
#
# **Goal.** `online_attention(Q, K, V, O, scale)`: `Q`, `O` float32 `[n_q, 64]`, `K`, `V` `[n_k, 64]`, any
# n_q and n_k. Launch `[ceil(n_q / 16), 128]`.
#
# **Budget.** `Q` and `O` once, `K` and `V` once a block, coalesced. No n × n buffer. About 40 lines.

# %% [markdown]
# **Specification.** Tile by tile, for one query. Correct, then add; divide once. One hole is left on
# purpose: a first tile of −inf only.


# %%
def query_spec(q, K, V, scale, tile=32):
    """q [64], K, V [n_k, 64] -> the output [64], in float64."""
    m, d, O = -np.inf, 0.0, np.zeros(V.shape[1])
    for start in range(0, len(K), tile):
        s = K[start : start + tile].astype(np.float64) @ q * scale
        m_new = max(m, s.max())
        factor = np.exp(m - m_new)
        p = np.exp(s - m_new)
        d = d * factor + p.sum()
        O = O * factor + p @ V[start : start + tile]
        m = m_new
    return O / d


# %% [markdown]
# **Shared out.** 128 threads are 16 rows of 8 lanes. Each of the 8 lanes of a row keeps the same `m` and
# `d`, and its own 8 columns of `O` in a local array. Scores pass through shared memory, since every lane
# needs all 32 of them.

# %% [markdown]
# **Barriers.** Each tile needs three: the tiles are complete before scores are computed; the scores are
# complete before they are used; all are done before the next tile overwrites. Threads of rows that do not
# exist must reach all of them.

# %% [markdown]
# **Ragged edges.** The last tile may hold fewer keys: leave the rest out of every loop. In that part of
# `k_tile` and `v_tile` anything may lie, and 0 · NaN is NaN. A score of −inf may also be in the data: guard
# −inf − −inf, and say why at that line.


# %% nbgrader={"grade_id": "online_attention", "solution": true}
@cuda.jit
def online_attention(Q, K, V, O, scale):
    """Q, O [n_q, WIDTH], K, V [n_k, WIDTH] float32; one block for QUERIES queries, KEYS keys at a time."""
    ### BEGIN SOLUTION
    q_tile = cuda.shared.array((QUERIES, PITCH), numba.float32)
    k_tile = cuda.shared.array((KEYS, PITCH), numba.float32)
    v_tile = cuda.shared.array((KEYS, PITCH), numba.float32)
    scores = cuda.shared.array((QUERIES, KEYS), numba.float32)
    acc = cuda.local.array(COLUMNS, numba.float32)  # this thread's columns of O
    row, lane = cuda.threadIdx.x // LANES, cuda.threadIdx.x % LANES
    query = cuda.blockIdx.x * QUERIES + row
    copy_tile(Q, cuda.blockIdx.x * QUERIES, QUERIES, q_tile)
    m, d = numba.float32(-math.inf), numba.float32(0.0)
    for c in range(COLUMNS):
        acc[c] = 0.0
    for first_key in range(0, K.shape[0], KEYS):
        keys = min(KEYS, K.shape[0] - first_key) if query < Q.shape[0] else 0  # none for a row past the end
        copy_tile(K, first_key, KEYS, k_tile)
        copy_tile(V, first_key, KEYS, v_tile)
        cuda.syncthreads()  # the tiles are complete
        for j in range(lane, keys, LANES):
            scores[row, j] = dot(q_tile, row, k_tile, j) * scale
        cuda.syncthreads()  # the scores are complete
        m_new = m
        for j in range(keys):
            m_new = max(m_new, scores[row, j])
        if m_new > -math.inf:  # only -inf so far: -inf - -inf is NaN, so keep the empty state
            factor = math.exp(m - m_new)  # 0 the first time
            d *= factor
            for c in range(COLUMNS):
                acc[c] *= factor  # O and d: one factor
            for j in range(keys):
                p = math.exp(scores[row, j] - m_new)
                d += p
                for c in range(COLUMNS):
                    acc[c] += p * v_tile[j, lane + LANES * c]
            m = m_new
        cuda.syncthreads()  # all are done with the tiles
    if query < Q.shape[0]:
        for c in range(COLUMNS):
            O[query, lane + LANES * c] = acc[c] / d
    ### END SOLUTION


# %% [markdown]
# **Look.** The same 64 queries and keys. `Q` and `O` should cross once, `K` and `V` four times. The picture
# shows the first block: `K` and `V` swept once, tile by tile.

# %%
O = np.full((n, WIDTH), np.nan, dtype=np.float32)
look = xray(online_attention[blocks, THREADS], Q, K, V, O, scale)
look

# %%
print("query 0, spec: ", query_spec(Q[0], K, V, 0.125)[:4].round(4))
print("query 0, yours:", O[0, :4].round(4))

# %% [markdown]
# What did fusion save? Sectors of all arrays in both ways, and their difference:

# %%
def total(*looks):
    return sum(look.traffic.load_sectors + look.traffic.store_sectors for look in looks)


if look.trace:
    print("naive:", total(*naive_looks), " online:", total(look), " saved:", total(*naive_looks) - total(look))
    print("the matrix:", sum(sectors(look, "S") for look in naive_looks), " Q once more:", 4 * n * WIDTH // 32)
else:
    print("Needs your kernel.")

# %% [markdown]
# **Two gates.** A float64 reference, and the naive path's output. Two float32 paths add in different
# orders: neither can judge the other alone, and both can be wrong together. Below, a share of what float32
# allows: up to 1 for the first gate, 2 for the second, where two errors meet.

# %%
def gates(O, O_naive, Q, K, V):
    """Largest distance of O from the reference and from the naive path, as a share of float32's error."""
    if np.isnan(O).any():
        return "O is not written everywhere, or holds a NaN"
    s = Q.astype(np.float64) @ K.astype(np.float64).T * 0.125
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    allowed = max(1e-5, 4 * 2**-23 * math.sqrt(len(K))) * (p @ np.abs(V))
    right = p @ V.astype(np.float64)
    return [round(float((np.abs(O - other) / allowed).max()), 3) for other in (right, O_naive)]


print("reference and naive path:", gates(O, O_naive, Q, K, V))
print("naive path and reference:", gates(O_naive, O_naive, Q, K, V)[0])

# %% [markdown]
# Ragged and different: 5 queries, 37 keys.

# %%
q = np.ascontiguousarray(Q[:5])
k, v = np.ascontiguousarray(K[-37:]), np.ascontiguousarray(V[-37:])
s, o, o_naive = (np.full((5, width), np.nan, dtype=np.float32) for width in (37, WIDTH, WIDTH))
scores_kernel[(1, 2), THREADS](q, k, s, scale)
softmax_kernel[5, THREADS](s)
output_kernel[1, THREADS](s, v, o_naive)
ragged = xray(online_attention[1, THREADS], q, k, v, o, scale)
print("reference and naive path:", gates(o, o_naive, q, k, v), *ragged.findings)

# %% [markdown]
# **Checks.** `values`: ordinary inputs, ragged n_q and n_k, a scale that is not 1/8. A verdict names the
# query and the dimension of the first wrong element.

# %% nbgrader={"grade_id": "online_attention_values", "grade": true, "points": 3}
check("lab5.online_attention.values", online_attention)

# %% [markdown]
# `rescale`: a loud key at n−3 and in other places, +20 and +200, a rising ramp, all far below zero, tiles
# of −inf, one NaN.

# %% nbgrader={"grade_id": "online_attention_rescale", "grade": true, "points": 4}
check("lab5.online_attention.rescale", online_attention)

# %% nbgrader={"grade_id": "online_attention_traffic", "grade": true, "points": 2}
check("lab5.online_attention.traffic", online_attention)

# %% nbgrader={"grade_id": "online_attention_safety", "grade": true, "points": 2}
check("lab5.online_attention.safety", online_attention)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# The two loops of the naive path become one. `scores_kernel` up to its last line fills a shared array in
# the place of `S`; then comes the fold of lab 2 with `acc` beside `d`; then the inner loop of
# `output_kernel`.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Load the queries. Start `m`, `d`, `acc`. For each key tile: load `K` and `V`; barrier; scores; barrier;
# the tile's maximum into `m_new`; factor; correct `d` and `acc`; add each key's weight to `d` and its value
# to `acc`; barrier. After the loop divide by `d` and write.
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the lines</summary>
#
# A thread corrects `d *= factor` and, for its 8 columns, `acc[c] *= factor`. Then `p = exp(scores[row, j] −
# m_new)` is added to `d`, and `p` times `v_tile[j, lane + 8·c]` to `acc[c]`.
#
# Give a row past the end 0 keys: it then skips every loop and still meets the barriers.
#
# </details>

# %% [markdown]
# **If the numbers are wrong**
#
# | symptom | cause |
# |---|---|
# | right in tests, wrong later, on loud keys | `O` is not rescaled, or not by the factor of `d` |
# | rows of weights that do not sum to one | `d` is not rescaled, or divided by in every tile |
# | inf or NaN at +200, although a maximum is subtracted | the first tile's maximum, or the tile's own, for all |
# | `d` drifts or underflows at long n | rescaled after adding, or the factor upside down |
# | wrong with 5 or 33 keys, right with 32 | the ragged keys count with score 0, or are dropped |
# | the mean of all values | the scale is applied to the weights, or the scores are never used |

# %% [markdown]
# **If the numbers are wrong, more**
#
# | symptom | cause |
# |---|---|
# | wrong at every scale but one | `scale` forgotten, applied twice, or 1/8 written in its place |
# | right for the first 16 queries only | `blockIdx` is missing from the row |
# | columns repeat or are missing | the 8 lanes do not share out 64 columns |
# | NaN where scores are −inf | the guard is missing, or 0 · NaN of a place that was never filled |
# | a NaN in a query disappears | it was skipped by a comparison |

# %% [markdown]
# **If traffic or safety fails**
#
# | symptom | cause |
# |---|---|
# | `Q` is read again and again | it is read in the loop over keys: keep it in shared memory |
# | `K` and `V` more than once a block | a thread or a row loads its own copy |
# | `O` is loaded, or stored in every tile | the accumulator lives in global memory |
# | too many sectors | neighbouring threads must load neighbouring columns |
# | a race on `k_tile`, `v_tile` or `scores` | one of the three barriers is missing |
# | a divergent barrier | rows past the end left early |

# %% [markdown]
# **Padding, counted.** A row of 64 words begins in the same bank as the row above. Which lines wait for
# banks? `conflicts` counts the extra turns. **Predict** what `PITCH = 65` changes, for `k_tile` and for
# `v_tile`; then set it at the top and run again from there.

# %%
for line in look.trace.lines if look.trace else ():
    if line.space == "shared" and line.requests and line.op == "load":
        print(f"{line.array:8} {line.requests:6,} requests, {line.conflicts:6,} extra turns: {line.text[:60]}")

# %% [markdown]
# <details><summary>Answer</summary>
#
# At 64, the lanes of a row walk down a column of `k_tile`, and the four rows of a warp down one of
# `q_tile`: many words of one bank. At 65 both are free. `v_tile` is read along its rows: nothing to wait
# for before, nothing to gain. `scores`, with its pitch of 32, has the conflict in small.
#
# </details>

# %% [markdown]
# **Self-check.** What three things does a query row carry, and where does each live in your kernel?
#
# <details><summary>Answer</summary>
#
# `m` and `d`, in registers of each of its 8 threads, eight times the same. `O`, 64 wide, shared out: 8 columns
# a thread. Only scores and tiles are in shared memory, and nothing of the state in global memory.
#
# </details>

# %% [markdown]
# **Self-check.** Why is the first tile no special case, although `acc` and `d` are multiplied by a factor?
#
# <details><summary>Answer</summary>
#
# `m` starts at −inf, so the first factor is `e^(−inf)`, exactly 0, and 0 times a finite start is 0. A finite
# stand-in for −inf breaks it as soon as scores lie below that.
#
# </details>

# %% [markdown]
# ## Time, on a GPU
#
# The bytes were settled before anything ran. **Write down** your guess for naive/online in *time* at
# n = 256, 1,024 and 4,096, then run. Without a GPU, go by the recorded figures below.

# %%
def milliseconds(launches, repeats=15):
    """The middle one of several times on the GPU, after one run to warm up."""
    times = []
    for _ in range(repeats + 1):
        begin, end = cuda.event(), cuda.event()
        begin.record()
        for kernel, arguments in launches:
            kernel(*arguments)
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(begin, end))
    return sorted(times[1:])[repeats // 2]


# %%
def race(n):
    """Times of both ways at n queries and keys, in a sentence; nothing is timed that is not right."""
    arrays = [cuda.to_device(rng.normal(size=(n, WIDTH)).astype(np.float32)) for _ in range(3)]
    S, O1, O2 = (cuda.device_array((n, width), np.float32) for width in (n, WIDTH, WIDTH))
    b = -(-n // QUERIES)
    naive = [
        (scores_kernel[(b, -(-n // KEYS)), THREADS], (arrays[0], arrays[1], S, scale)),
        (softmax_kernel[n, THREADS], (S,)),
        (output_kernel[b, THREADS], (S, arrays[2], O1)),
    ]
    online = [(online_attention[b, THREADS], (*arrays, O2, scale))]
    t1, t2 = milliseconds(naive), milliseconds(online)
    if not np.allclose(O1.copy_to_host(), O2.copy_to_host(), rtol=1e-3, atol=1e-4):
        return f"n = {n:5,}: your kernel does not agree with the naive path yet"
    return f"n = {n:5,}: naive {t1:.3f} ms, online {t2:.3f} ms, naive/online {t1 / t2:.2f}"


# %%
if numba.config.ENABLE_CUDASIM:
    print("This is the simulator: it counts, it does not time. On a GPU this cell times both ways.")
else:
    for size in (256, 1024, 4096):
        print(race(size))

# %% [markdown]
# <details><summary>Recorded figures: naive/online in time</summary>
#
# | one head, d = 64 | 256 | 1,024 | 4,096 |
# |---|---|---|---|
# | T4, reported by a public CUDA tutorial | 0.211 | 0.576 | 1.582 |
# | H200, this lab's solution, one run | 0.89 | 0.63 | 0.95 |
# | H200, the same with `PITCH = 65` | 0.77 | 0.65 | 1.05 |
#
# Above 1 online is faster. The bytes of the matrix are saved in every column.
#
# </details>

# %% [markdown]
# <details><summary>Why is the online kernel not simply faster?</summary>
#
# Few blocks: 16 at n = 256, on a card with dozens of multiprocessors, and each walks along all keys. The
# naive scores are spread over far more. Larger tiles, several scores a thread in registers, and keys split
# over blocks whose (m, d, O) are merged turn it round: see lesson 05.
#
# </details>

# %% [markdown]
# ## Exercise 4: break it
#
# The commonest wrong kernel here rescales `d` and forgets `O`. Write scores that expose it:
# `breaking_value(i, n)` is the score of key i of n, for every query. Finite, within ±10,000; it must
# work for several n above 32.


# %%
def forgets_O(s, V, tile=32):
    """The output [64] for scores s [n_k]: d is corrected in every tile, O is not."""
    m, d, O = -np.inf, 0.0, np.zeros(V.shape[1])
    for start in range(0, len(s), tile):
        part = s[start : start + tile]
        m_new = max(m, part.max())
        p = np.exp(part - m_new)
        d = d * np.exp(m - m_new) + p.sum()
        O = O + p @ V[start : start + tile]
        m = m_new
    return O / d


# %% nbgrader={"grade_id": "breaking_value", "solution": true}
def breaking_value(i, n):
    """Score of key i of n on which a kernel that does not rescale O is wrong."""
    ### BEGIN SOLUTION
    return 20.0 if i == n - 3 else 0.0
    ### END SOLUTION


# %%
try:
    s = np.array([breaking_value(i, n) for i in range(n)], dtype=np.float64)
    p = np.exp(s - s.max())
    print("right:     ", (p / p.sum() @ V)[:4].round(3))
    print("forgets O: ", forgets_O(s, V)[:4].round(3))
except NotImplementedError:
    print("breaking_value is not written yet.")

# %% nbgrader={"grade_id": "breaking_value_answer", "grade": true, "points": 1}
check("lab5.breaking_value.answer", breaking_value)

# %% [markdown]
# <details><summary>Hint 1: the idea</summary>
#
# The missing factor is `e^(m − m_new)`. It is 1 as long as the maximum stays where the first tile put it.
#
# </details>

# %% [markdown]
# <details><summary>Hint 2: the outline</summary>
#
# Let a later tile hold a score well above all of the first 32. Which keys are in a later tile for every n above
# 32?
#
# </details>

# %% [markdown]
# <details><summary>Hint 3: the line</summary>
#
# One loud key near the end, such as i = n − 3, and 0 for all others.
#
# </details>

# %% [markdown]
# **If it fails**
#
# | symptom | cause |
# |---|---|
# | the wrong kernel passes | the loudest key is among the first 32, or all scores are equal |
# | it passes for some n | the key's place does not follow n |
# | refused | infinite, or beyond ±10,000 |

# %% [markdown]
# **Self-check.** Why would a test of `d` alone not see this mistake?
#
# <details><summary>Answer</summary>
#
# `d` is rescaled as it should be. The old terms of `O` keep weights that belong to an old maximum, so `O/d`
# is no mean any more: the weights in it do not sum to one.
#
# </details>

# %% [markdown]
# ## Exercise 5: in your words
#
# In at most 120 words: why may the division by `d` wait until the end? And: at n = 4,096 and tiles of 16
# your kernel asks for more bytes than naive's matrix. What has fusion saved all the same, and what would
# lower the rest?
#
# A person reads this: 1 point for each question.

# %% [markdown] nbgrader={"grade_id": "lab5_written", "grade": true, "solution": true, "points": 2}
# `O` and `d` are sums of the same terms, with and without `v`, and are rescaled by the same factor. So
# their quotient is the right mean after every tile, whenever it is taken; dividing earlier only costs
# divisions. (1 point)
#
# The n × n matrix: 20·n² bytes of traffic and its 4·n² bytes of memory are gone, for any n. What is left is
# `K` and `V` read again by each block: small arrays, which a cache can hold. A larger query tile lowers it
# in proportion. (1 point)

# %% [markdown]
# ## You have
#
# * derived 20·n² + 16·n·d and seen it in the counts
# * carried `m`, `d` and `O`, one factor for two of them, one division
# * passed two gates
# * counted bank conflicts both ways
# * exposed a kernel that forgets `O`
#
# This was the last lab: the same state, from three passes to attention.
