THREADS = 256
SLOTS = 32


def choose_softmax(n):
    slots_needed = (n + THREADS - 1) // THREADS
    if slots_needed > SLOTS:
        return "warp"
    return "register_cache"
