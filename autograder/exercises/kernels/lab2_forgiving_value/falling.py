def forgiving_value(i, n):
    return -i / n
