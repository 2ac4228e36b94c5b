"""Workload R14 in plain Python: what the peers' results are compared with. Needs nothing but Python 3.

out = in + gain * (in - surround), where the surround comes from a pyramid of `levels` levels: each halves the one
before with (1 3 3 1) / 8 in both directions; on the way up each is doubled with (1 3) / 4 and averaged with the level
that it meets. The image goes on for ever, mirrored without repeating the edge.

A level is calculated where a later one reads it, and nowhere else: `reach` says where that is.
"""

GAIN = 1.2
LEVELS = 3


def reach(size, levels=LEVELS):
    """For each level, the last index that its join needs, and the last one that the next finer level is read at.

    The first index of a level's join is -1, that of level k itself 1 - 2 ** (levels + 1 - k).
    """
    joined = [size - 1]
    for _ in range(levels):
        joined.append((joined[-1] + 1) // 2)
    read = [joined[-1]]
    for _ in range(levels):
        read.insert(0, 2 * read[0] + 2)
    return joined, read


def mirrored(index, size):
    if size == 1:
        return 0
    index %= 2 * size - 2
    return min(index, 2 * size - 2 - index)


def halved(row):
    """One value for each two, from the two and their neighbours; `row` begins with the first one's neighbour."""
    taps = zip(row[0::2], row[1::2], row[2::2], row[3::2])
    return [(a + d + 3.0 * (b + c)) * 0.125 for a, b, c, d in taps]


def halved_rows(rows):
    taps = zip(rows[0::2], rows[1::2], rows[2::2], rows[3::2])
    return [[(a + d + 3.0 * (b + c)) * 0.125 for a, b, c, d in zip(*four)] for four in taps]


def doubled(row):
    """From -1 to n: two values between each two neighbours, which are those from -1 to 2 n."""
    wide = [0.0] * (2 * len(row) - 2)
    wide[0::2] = [0.75 * a + 0.25 * b for a, b in zip(row, row[1:])]
    wide[1::2] = [0.25 * a + 0.75 * b for a, b in zip(row, row[1:])]
    return wide


def doubled_rows(rows):
    wide = []
    for upper, lower in zip(rows, rows[1:]):
        wide.append([0.75 * a + 0.25 * b for a, b in zip(upper, lower)])
        wide.append([0.25 * a + 0.75 * b for a, b in zip(upper, lower)])
    return wide


def surround(picture, width, height, levels):
    """Of each pixel; `picture` has a list of numbers for each row."""
    (joined_x, read_x), (joined_y, read_y) = reach(width, levels), reach(height, levels)
    rim = 2 ** (levels + 1) - 1
    columns = [mirrored(x, width) for x in range(-rim, read_x[0] + 1)]
    pyramid = [[[picture[mirrored(y, height)][x] for x in columns] for y in range(-rim, read_y[0] + 1)]]
    for _ in range(levels):
        pyramid.append(halved_rows([halved(row) for row in pyramid[-1]]))
    coarse = pyramid[-1]
    for level in range(levels - 1, -1, -1):
        first = 2 ** (levels + 1 - level) - 2
        met = [row[first:] for row in pyramid[level][first : first + joined_y[level] + 2]]
        up = [row[: joined_x[level] + 2] for row in doubled_rows([doubled(row) for row in coarse])]
        coarse = [[0.5 * (a + b) for a, b in zip(*two)] for two in zip(met, up)]
    return [row[1:] for row in coarse[1:]]


def local_contrast(frame, width, height, gain=GAIN, levels=LEVELS):
    """The result of a mono8 frame, as bytes; rounded half up, saturated."""
    picture = [[float(value) for value in frame[y * width : (y + 1) * width]] for y in range(height)]
    result = bytearray()
    for row, around in zip(picture, surround(picture, width, height, levels)):
        values = [centre + gain * (centre - mean) for centre, mean in zip(row, around)]
        result += bytes([int(min(max(value, 0.0), 255.0) + 0.5) for value in values])
    return bytes(result)
