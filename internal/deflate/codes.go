package deflate

import (
	"math"
	"math/bits"
	"slices"
)

// The symbols of RFC 1951: 0 to 255 are literals, 256 ends a block, the others are ranges of lengths. Distances have
// symbols of their own.
const (
	endOfBlock   = 256
	firstLength  = 257
	lengthCodes  = 286
	distanceSize = 30
)

// lengthCode returns the symbol of a length, and how many bits say which length of its range it is.
func lengthCode(length int) (symbol, extra int) {
	switch n := length - minMatch; {
	case length == maxMatch:
		return firstLength + 28, 0
	case n < 8:
		return firstLength + n, 0
	default:
		extra = bits.Len(uint(n)) - 3
		return firstLength + 4*extra + n>>extra, extra
	}
}

// distanceCode returns the symbol of a distance.
func distanceCode(distance int) int {
	n := distance - 1
	if n < 4 {
		return n
	}
	extra := bits.Len(uint(n)) - 2
	return 2*extra + n>>extra
}

// distanceExtra returns how many bits say which distance of a symbol's range it is.
func distanceExtra(symbol int) int { return max(0, symbol/2-1) }

// counts is how often each symbol is used.
type counts struct {
	lengths   [lengthCodes]int // and literals
	distances [distanceSize]int
}

func count(steps []step) *counts {
	var c counts
	for _, s := range steps {
		if s.distance == 0 {
			c.lengths[s.literal]++
			continue
		}
		symbol, _ := lengthCode(int(s.length))
		c.lengths[symbol]++
		c.distances[distanceCode(int(s.distance))]++
	}
	c.lengths[endOfBlock] = 1
	return &c
}

// costs are the bits that a literal, a length and the symbol of a distance take.
type costs struct {
	literal  [256]float64
	length   [maxMatch + 1]float64
	distance [distanceSize]float64
}

func initialCosts() (c costs) {
	for i := range c.literal {
		c.literal[i] = 6
	}
	for i := minMatch; i <= maxMatch; i++ {
		_, extra := lengthCode(i)
		c.length[i] = float64(7 + extra)
	}
	for i := range c.distance {
		c.distance[i] = float64(5 + distanceExtra(i))
	}
	return c
}

// update sets the costs to those of the best codes for the counts, and returns what all symbols cost together.
func (c *costs) update(n *counts) (size float64) {
	lengths, distances := entropies(n.lengths[:]), entropies(n.distances[:])
	copy(c.literal[:], lengths)
	for i := minMatch; i <= maxMatch; i++ {
		symbol, extra := lengthCode(i)
		c.length[i] = lengths[symbol] + float64(extra)
	}
	for i := range c.distance {
		c.distance[i] = distances[i] + float64(distanceExtra(i))
	}
	for i, used := range n.lengths {
		size += float64(used) * lengths[i]
		if i >= firstLength && i < lengthCodes-1 {
			size += float64(used * max(0, (i-firstLength)/4-1))
		}
	}
	for i, used := range n.distances {
		size += float64(used) * c.distance[i]
	}
	return size
}

// entropies returns how many bits each symbol would take in an ideal code. A symbol that is not used is as dear as one
// that is used once.
func entropies(counts []int) []float64 {
	total := 0
	for _, n := range counts {
		total += n
	}
	all := math.Log2(float64(max(1, total)))
	out := make([]float64, len(counts))
	for i, n := range counts {
		out[i] = max(1, all-math.Log2(float64(max(1, n))))
	}
	return out
}

// A node is a part of the tree of a Huffman code.
type node struct {
	count   int
	symbols []int
}

// codeLengths returns the lengths of a Huffman code. Each symbol that is used has one, of at most the limit.
func codeLengths(counts []int, limit int) []byte {
	counts = slices.Clone(counts)
	for {
		var nodes []node
		for symbol, n := range counts {
			if n > 0 {
				nodes = append(nodes, node{n, []int{symbol}})
			}
		}
		lengths := make([]byte, len(counts))
		if len(nodes) == 1 {
			lengths[nodes[0].symbols[0]] = 1
		}
		for len(nodes) > 1 {
			slices.SortStableFunc(nodes, func(a, b node) int { return b.count - a.count })
			a, b := nodes[len(nodes)-1], nodes[len(nodes)-2]
			both := node{a.count + b.count, slices.Concat(a.symbols, b.symbols)}
			for _, symbol := range both.symbols {
				lengths[symbol]++
			}
			nodes = append(nodes[:len(nodes)-2], both)
		}
		if slices.Max(lengths) <= byte(limit) {
			return lengths
		}
		for i, n := range counts { // flatter counts have a flatter tree
			counts[i] = (n + 1) / 2
		}
	}
}

// codes returns the codes that have the lengths, with their bits in the order in which they are written.
func codes(lengths []byte) []uint16 {
	out := make([]uint16, len(lengths))
	code := 0
	for length := 1; length <= 15; length++ {
		code <<= 1
		for symbol, l := range lengths {
			if int(l) == length {
				out[symbol] = bits.Reverse16(uint16(code)) >> (16 - length)
				code++
			}
		}
	}
	return out
}
