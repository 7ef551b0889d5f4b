# %% [markdown]
# # 02 · Online softmax
#
# **Question.** Safe softmax reads the row three times, because the denominator waits for the maximum
# of the whole row. Can one pass find both together?

# %% [markdown]
# **You will**
#
# - carry the state (m, d) along a row by hand, and derive its update;
# - fold a whole tile at once, correcting first;
# - count what it saves: 6 transfers instead of 8;
# - break it: rescale, tail, empty tile, order, access.

# %% tags=["setup"]
# setup

# %% [markdown]
# ## By hand: 3 1 4 2
#
# Keep two numbers: **m**, the maximum so far, and **d**, the denominator *for that maximum*. When m
# moves, d is out of date. Do not start again: **rescale** it.
#
# | x | new m | d |
# |---|---|---|
# | 3 | 3 | 1 |
# | 1 | 3 | 1 + e^(1−3) |
# | 4 | 4 | (1 + e^(1−3)) · e^(3−4) + 1 |
# | 2 | 4 | ? |

# %% [markdown]
# In the third line, multiplying by e^(3−4) turns e^(3−3) into e^(3−4) and e^(1−3) into e^(1−4): every
# old term now stands against 4.
#
# **Predict** the last d. Lesson 01 found the denominator of this row: 1.5530.

# %%
def step(m, d, x):
    m_new = max(m, x)
    return m_new, d * math.exp(m - m_new) + math.exp(x - m_new)


# %%
from autograder.figures import film_player, sector_map, state_table
from autograder.figures import transfer_film

rows, m, d = [], -math.inf, 0.0
for number, x in enumerate((3, 1, 4, 2), start=1):
    before = m
    m, d = step(m, d, x)
    rows.append((number, x, m, math.exp(before - m), d))
state_table(rows)

# %% [markdown]
# The column **factor** is $e^{m - m_{\text{new}}}$, what the old d was multiplied by. It differs
# from 1 exactly where the maximum moves.

# %% [markdown]
# **The rule**, a recurrence. From (−∞, 0), for each x:
#
# $$m_{\text{new}} = \max(m, x), \qquad d_{\text{new}} = d\,e^{m - m_{\text{new}}} + e^{x - m_{\text{new}}}$$

# %% [markdown]
# ## Where the recurrence comes from
#
# Let $d_k$ be the denominator of the first k numbers, against their own maximum $m_k$. Split the
# last term off the sum:
#
# $$d_k = \sum_{i \le k} e^{x_i - m_k} = \sum_{i < k} e^{x_i - m_k} \;+\; e^{x_k - m_k}$$

# %% [markdown]
# The sum on the right is almost $d_{k-1}$: only the maximum differs. Put the old one in, and take
# the common factor out:
#
# $$\sum_{i<k} e^{x_i - m_k} = \sum_{i<k} e^{x_i - m_{k-1}}\, e^{m_{k-1} - m_k} = d_{k-1}\, e^{m_{k-1} - m_k}$$

# %% [markdown]
# That is the rule. It is an **identity**, not an approximation: at every k, d is exactly the denominator of
# what has been read. Only rounding remains. Here, the worst relative difference over all
# beginnings of a wild row:

# %%
row = np.random.default_rng(0).normal(scale=30, size=500)
m, d, worst = -math.inf, 0.0, 0.0
for k in range(500):
    m, d = step(m, d, row[k])
    direct = np.exp(row[: k + 1] - m).sum()
    worst = max(worst, abs(d / direct - 1))
print("worst difference below 1e-13:", worst < 1e-13)

# %% [markdown]
# Three things to see in the factor $e^{m - m_{\text{new}}}$:
#
# - m never falls, so the factor is **at most 1**: nothing overflows;
# - when the maximum does not move, it is **1**, and the update is a plain sum;
# - at the start it is $e^{-\infty} = 0$: no special case for the first number.

# %% [markdown]
# ## Tiles: correct, then add
#
# A block reads tiles, not single numbers. Fold a whole tile: take its maximum into m, correct d
# **once**, then add the tile against the new maximum.

# %%
def fold(m, d, tile):
    m_new = max(m, tile.max())
    d = d * np.exp(m - m_new)  # correct what we have
    d = d + np.exp(tile - m_new).sum()  # then add the tile
    return m_new, d


# %% [markdown]
# **Predict.** The film's row, 3 1 4 2 | 8 5 7 6. You know (m, d) after the first tile. After the second,
# m is 8. By which factor is the old d rescaled, and what does the second tile add?

# %% [markdown]
# <details><summary>Answer</summary>
#
# By e^(4−8) = 0.0183, which leaves 0.0284 of the 1.5530. The second tile adds 1 + e^(−3) + e^(−1) +
# e^(−2) = 1.5530: it is the first tile plus 4, in another order. Together 1.5814.
#
# </details>

# %%
film = np.array([3, 1, 4, 2, 8, 5, 7, 6], np.float64)
m, d = -math.inf, 0.0
for k in (0, 1):
    m, d = fold(m, d, film[4 * k : 4 * k + 4])
    print(f"after tile {k}: m = {m:g}, d = {d:.4f}")

# %% [markdown]
# The direct way agrees:

# %%
print(f"{np.exp(film - film.max()).sum():.4f}")

# %% [markdown]
# ## Order matters: correct first
#
# The factor belongs to what was counted against the **old** maximum. Add first, and the factor also hits
# the new tile, which already stands against the new one. **Predict**: is d then too large or
# too small?

# %%
def fold_late(m, d, tile):
    m_new = max(m, tile.max())
    d = d + np.exp(tile - m_new).sum()  # added too early
    d = d * np.exp(m - m_new)  # and rescaled with the rest
    return m_new, d


# %%
first = fold(-np.inf, 0.0, film[:4])
print("right: d = %.4f" % fold(*first, film[4:])[1])
print("late:  d = %.4f" % fold_late(*first, film[4:])[1])

# %% [markdown]
# ## Two passes are left
#
# Pass 1 gives m and d together. But no share can be written before d is final, and the last number
# may still change it. So pass 2 reads the row once more and writes.
#
# **Predict** the number of transfers on film. Three passes took 8.

# %%
strip = transfer_film(film, tile=4, kind="online", columns=3)
print(f"{strip.fetches} fetches + {strip.stores} stores = {strip.transfers}")
film_player(strip)

# %% [markdown]
# The reads of the row fall from 3 to 2: a third of the reads is gone. The write stays.

# %% [markdown]
# ## In a kernel: a cousin of (m, d)
#
# Your lab writes the state (m, d) in a kernel. Here is its cousin: (m, c), the maximum and **how
# often** it occurs, in one pass. When the maximum moves, the old count is worth nothing: the factor
# is 0 instead of $e^{m - m_{\text{new}}}$.

# %%
@cuda.jit
def count_max(X, C):
    r = cuda.grid(1)
    if r < X.shape[0]:
        m = np.float32(-math.inf)
        c = 0
        for j in range(X.shape[1]):
            x = X[r, j]  # one load, used three times below
            if x > m:
                m = x
                c = 0  # correct what we have
            if x == m:
                c += 1  # then add
        C[r] = c


# %%
X = np.random.default_rng(1).integers(0, 10, (32, 64)).astype(np.float32)
C = np.zeros(32, np.int32)
count_max[1, 32](X, C)
print(np.array_equal(C, (X == X.max(axis=1, keepdims=True)).sum(axis=1)))

# %% [markdown]
# ## One thread a row: right, and slow
#
# One thread a row is the easiest kernel to write. **Predict** its load sectors here: 32 rows of 64 numbers, one
# warp, one pass. In each step the 32 lanes read one number each, a row apart.

# %%
rows_kernel = xray(count_max[1, 32], X, C).traffic
print(rows_kernel.load_bytes, "bytes,", rows_kernel.load_sectors, "sectors")

# %% [markdown]
# A sector holds eight numbers, and the warp uses one of each. The first request, drawn:

# %%
sector_map(range(0, 32 * 64, 64), title="One thread a row, 64 numbers a row: the first request")

# %% [markdown]
# Now a block a row. This kernel only walks: it reads each row once, tile by tile, and every thread
# keeps the largest number that it saw.

# %%
@cuda.jit
def walk_tiles(X, out):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    top = np.float32(-math.inf)
    for j in range(t, X.shape[1], cuda.blockDim.x):
        top = max(top, X[row, j])
    out[row, t] = top


# %%
tiles_kernel = xray(walk_tiles[32, 32], X, np.zeros((32, 32), np.float32)).traffic
print(tiles_kernel.load_bytes, "bytes,", tiles_kernel.load_sectors, "sectors")

# %%
from autograder.figures import traffic_bars

loads = [
    ("one thread a row", (rows_kernel.load_sectors, 0)),
    ("one block a row", (tiles_kernel.load_sectors, 0)),
]
traffic_bars(loads, unit="sectors", title="Load sectors of one pass over X")

# %% [markdown]
# Same bytes, an eighth of the sectors. A public CUDA tutorial reports softmax of 4,096 × 4,096 float32 on an
# A100 80 GB as a share of the card's bandwidth: 7 % for one thread a row, 58 % for a block a row that merges
# through warp shuffles, a later lesson.

# %% [markdown]
# ## Where it breaks: the tail
#
# A row of six in tiles of four: the second tile is ragged. **Predict** d when the two missing numbers are
# read as 0, and when they are read as −inf.

# %%
six = film[:6]
for pad in (0.0, -np.inf):
    m, d = fold(*fold(-np.inf, 0.0, six[:4]), np.append(six[4:], [pad, pad]))
    print(f"pad {pad}: m = {m:g}, d = {d:.6f}")
print(f"truth: d = {np.exp(six - six.max()).sum():.6f}")

# %% [markdown]
# The 0 adds two terms e^(0−8). That is small here, and a loose test would let it pass. On a row of large negative
# numbers it takes the maximum, and the true terms vanish:

# %%
low = six - 200
for pad in (0.0, -np.inf):
    m, d = fold(*fold(-np.inf, 0.0, low[:4]), np.append(low[4:], [pad, pad]))
    print(f"pad {pad}: m = {m:g}, d = {d:.6f}")

# %% [markdown]
# A missing number is −inf: it never becomes the maximum, and its term is $e^{-\infty} = 0$.

# %% [markdown]
# ## Where it breaks: a tile with nothing in it
#
# A score that must not count is set to −inf, and a whole first tile can be. **Predict** the factor: m = −inf, and the new m is
# −inf too.

# %%
nothing = np.full(4, -np.inf)
with np.errstate(invalid="ignore"):  # the NaN is the point of this cell
    empty = fold(-np.inf, 0.0, nothing)
    print("after the empty tile:  m = %g, d = %g" % empty)
    print("after the next tile:   m = %g, d = %g" % fold(*empty, film[:4]))

# %% [markdown]
# −inf − (−inf) is NaN, and a NaN in d never leaves. So the update needs a guard, with its reason
# beside it:

# %%
def fold_guarded(m, d, tile):
    m_new = max(m, tile.max())
    if m_new == -np.inf:  # nothing finite yet: −inf − −inf would be NaN
        return m, d
    return m_new, d * np.exp(m - m_new) + np.exp(tile - m_new).sum()


print("m = %g, d = %.4f" % fold_guarded(*fold_guarded(-np.inf, 0.0, nothing), film[:4]))

# %% [markdown]
# ## Break it: a kernel that never rescales
#
# A common mistake: the maximum moves, and the old d stays as it was.

# %%
def fold_never(m, d, tile):
    m_new = max(m, tile.max())
    return m_new, d + np.exp(tile - m_new).sum()


# %%
def judge_never(row):
    m, d = -np.inf, 0.0
    for k in range(0, len(row), 4):
        m, d = fold_never(m, d, row[k : k + 4])
    right = np.exp(row - row.max()).sum()
    verdict = "passes" if np.isclose(d, right, rtol=1e-5) else "FAILS"
    return f"found {d:.4f}, right {right:.4f}: {verdict}"


# %% [markdown]
# **Your turn.** Write one row of eight on which it fails, and one on which it passes although its numbers
# differ. As they stand, both rows let it pass.

# %%
mine_fails = np.array([0, 0, 0, 0, 0, 0, 0, 0], np.float64)
mine_passes = np.array([0, 0, 0, 0, 0, 0, 0, 0], np.float64)
print(judge_never(mine_fails))
print(judge_never(mine_passes))

# %% [markdown]
# <details><summary>Answer</summary>
#
# It fails when a later tile holds a larger maximum: 3 1 4 2 8 5 7 6 will do. It passes when the
# maximum lies in the first tile: 8 5 7 6 3 1 4 2. Then every factor is 1, and leaving it out
# changes nothing.
#
# </details>

# %%
rows = {
    "the film": film,
    "tiles swapped": np.roll(film, 4),
    "all equal": np.full(8, 3.0),
    "rising": np.arange(8.0),
    "+20 in the last tile": film + 20.0 * (np.arange(8) == 6),
    "+20 in the first tile": film + 20.0 * (np.arange(8) == 1),
}
for name, row in rows.items():
    print(f"{name:22}", judge_never(row))

# %% [markdown]
# So a test must be **loud** where it matters. When this course was designed, a softmax that never
# rescales passed the inputs of a public puzzle collection in 10 runs of 10. The `rescale` check in
# your lab moves the maximum in late tiles, and in every tile.

# %% [markdown]
# ## Check yourself
#
# **1.** What exactly does the rescale multiply?
#
# <details><summary>Answer</summary>
#
# Only d as it was before this tile: the sum of the terms already counted, against the old maximum.
# The new tile's terms stand against the new maximum and are added afterwards.
#
# </details>

# %% [markdown]
# **2.** Why are two passes left, and not one?
#
# <details><summary>Answer</summary>
#
# Each share is divided by the final d, and the last number of the row may still change d. So the
# row must be read again, or kept somewhere fast. A later lab keeps it.
#
# </details>

# %% [markdown]
# **3.** What happens if the sum is updated before the maximum? Take d = 1 at m = 0 in float32, and let x = 200
# arrive.
#
# <details><summary>Answer</summary>
#
# The new term is e^(200−0), above float32's largest number: inf. The rescale by e^(0−200) = 0 then
# makes inf · 0 = NaN. The promise "no exponent above 0" is gone.
#
# </details>

# %%
with np.errstate(over="ignore", invalid="ignore"):  # the NaN is the point of this cell
    d = np.float32(1) + np.exp(np.float32(200))
    print(d, d * np.exp(np.float32(-200)))

# %% [markdown]
# ## You have
#
# - the state (m, d), its update, and a proof that it is exact;
# - a fold for tiles: correct first, then add;
# - two passes: 6 transfers on film, a third of the reads gone;
# - the traps: tail, empty tile, never rescaled, order, one thread a row.
#
# **Now lab 2:** `online_softmax_rows`, then `online_softmax_tiled`.
