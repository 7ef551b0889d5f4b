def choose_softmax(n):
    return "register_cache" if n <= 256 * 32 else "warp"
