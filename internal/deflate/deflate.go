// Package deflate compresses files that are compressed once and sent often. Its results are about 3% smaller than those
// of other gzip encoders at their best level, and take many times longer.
//
// An encoder decides at each byte between a literal and one of the matches with earlier bytes. Others decide by rules of
// thumb. This one knows what each choice costs in bits and finds the cheapest sequence of choices. The costs
// depend on the codes, and the codes on the choices, so it repeats this until the result gets no smaller.
package deflate

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

const (
	window   = 32 << 10 // how far back a match may be
	minMatch = 3
	maxMatch = 258
	maxTries = 2000 // earlier places that are compared at each byte
	rounds   = 15
	header   = 500 // bits that the codes of a block take, about
)

// Gzip returns data in the gzip format.
func Gzip(data []byte) []byte {
	out := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255} // no name, no time, the best level, no system
	out = append(out, deflate(data)...)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(data))
	return binary.LittleEndian.AppendUint32(out, uint32(len(data)))
}

// deflate divides data in blocks, each of which has its own codes.
func deflate(data []byte) []byte {
	matches := findMatches(data)
	var w bitWriter
	from := 0
	for _, block := range divide(cheapest(data, matches, 0, len(data))) {
		to := from
		for _, s := range block {
			to += int(s.length)
		}
		w.writeBlock(cheapest(data, matches, from, to), to == len(data))
		from = to
	}
	return w.close()
}

// divide divides steps in blocks where separate codes make them smaller.
func divide(steps []step) [][]step {
	const parts = 64
	at, smallest := 0, size(steps)-header
	for i := 1; i < parts; i++ {
		middle := i * len(steps) / parts
		if both := size(steps[:middle]) + size(steps[middle:]); both < smallest {
			at, smallest = middle, both
		}
	}
	if at == 0 {
		return [][]step{steps}
	}
	return append(divide(steps[:at]), divide(steps[at:])...)
}

// size returns how many bits steps take with the best codes.
func size(steps []step) float64 {
	var c costs
	return c.update(count(steps))
}

// A match says that the bytes at some place are the same as those a distance earlier, up to a length.
type match struct{ length, distance uint16 }

// findMatches returns the matches at each place in increasing length. Of matches with a length it has the nearest.
func findMatches(data []byte) [][]match {
	found := make([][]match, len(data))
	latest := map[[minMatch]byte]int{} // where three bytes were last, plus one
	earlier := make([]int, len(data))  // where the three bytes of each place were before, plus one
	for i := 0; i+minMatch <= len(data); i++ {
		key := [minMatch]byte(data[i:])
		longest := minMatch - 1
		earlier[i] = latest[key]
		latest[key] = i + 1
		for at, tries := earlier[i]-1, 0; at >= 0 && i-at <= window && tries < maxTries && longest < maxMatch; at, tries = earlier[at]-1, tries+1 {
			length := 0
			for length < maxMatch && i+length < len(data) && data[at+length] == data[i+length] {
				length++
			}
			if length > longest {
				longest = length
				found[i] = append(found[i], match{uint16(length), uint16(i - at)})
			}
		}
	}
	return found
}

// A step is a literal, of length 1 and distance 0, or a match.
type step struct {
	match
	literal byte
}

// cheapest returns the steps from one place to another that take the fewest bits.
func cheapest(data []byte, matches [][]match, from, to int) (best []step) {
	costs := initialCosts()
	smallest := math.Inf(1)
	for range rounds {
		steps := path(data, matches, from, to, &costs)
		if size := costs.update(count(steps)); size < smallest {
			best, smallest = steps, size
		}
	}
	return best
}

// path returns the cheapest steps with given costs. It goes through all places in order, and notes at each place that can
// be reached from there whether that is the cheapest way to it.
func path(data []byte, matches [][]match, from, to int, c *costs) []step {
	total := make([]float64, to-from+1)
	last := make([]match, to-from+1) // the step that led to each place
	for i := range total[1:] {
		total[i+1] = math.Inf(1)
	}
	for i := from; i < to; i++ {
		at := i - from
		if cost := total[at] + c.literal[data[i]]; cost < total[at+1] {
			total[at+1], last[at+1] = cost, match{length: 1}
		}
		length := minMatch
		for _, m := range matches[i] {
			far := total[at] + c.distance[distanceCode(int(m.distance))]
			for ; length <= int(m.length) && at+length < len(total); length++ {
				if cost := far + c.length[length]; cost < total[at+length] {
					total[at+length], last[at+length] = cost, match{uint16(length), m.distance}
				}
			}
		}
	}
	var steps []step
	for at := to - from; at > 0; at -= int(last[at].length) {
		steps = append(steps, step{last[at], data[from+at-1]})
	}
	for i, j := 0, len(steps)-1; i < j; i, j = i+1, j-1 {
		steps[i], steps[j] = steps[j], steps[i]
	}
	return steps
}
