package deflate

import "slices"

// bitWriter writes bits, the lowest first.
type bitWriter struct {
	out     []byte
	pending uint64
	count   int
}

func (w *bitWriter) write(value, count int) {
	w.pending |= uint64(value) << w.count
	for w.count += count; w.count >= 8; w.count -= 8 {
		w.out = append(w.out, byte(w.pending))
		w.pending >>= 8
	}
}

func (w *bitWriter) close() []byte {
	if w.count > 0 {
		w.out = append(w.out, byte(w.pending))
	}
	return w.out
}

// writeBlock writes a block with codes of its own.
func (w *bitWriter) writeBlock(steps []step, isLast bool) {
	n := count(steps)
	lengthBits, distanceBits := codeLengths(n.lengths[:], 15), codeLengths(n.distances[:], 15)
	w.write(map[bool]int{true: 1}[isLast], 1)
	w.write(2, 2)
	w.writeCodes(lengthBits, distanceBits)
	lengths, distances := codes(lengthBits), codes(distanceBits)
	for _, s := range steps {
		if s.distance == 0 {
			w.write(int(lengths[s.literal]), int(lengthBits[s.literal]))
			continue
		}
		symbol, extra := lengthCode(int(s.length))
		w.write(int(lengths[symbol]), int(lengthBits[symbol]))
		w.write((int(s.length)-minMatch)&(1<<extra-1), extra)
		symbol = distanceCode(int(s.distance))
		w.write(int(distances[symbol]), int(distanceBits[symbol]))
		extra = distanceExtra(symbol)
		w.write((int(s.distance)-1)&(1<<extra-1), extra)
	}
	w.write(int(lengths[endOfBlock]), int(lengthBits[endOfBlock]))
}

// A run is a symbol of the code for code lengths, with bits that say how often a length is repeated.
type run struct{ symbol, value, bits int }

// writeCodes writes the lengths of both codes, in a code of its own.
func (w *bitWriter) writeCodes(lengths, distances []byte) {
	lengths = trim(lengths, firstLength)
	distances = trim(distances, 1)
	var runs []run
	for rest := slices.Concat(lengths, distances); len(rest) > 0; {
		same := 1
		for same < len(rest) && rest[same] == rest[0] {
			same++
		}
		switch n := same; {
		case rest[0] == 0 && n >= 11:
			same = min(n, 138)
			runs = append(runs, run{18, same - 11, 7})
		case rest[0] == 0 && n >= 3:
			runs = append(runs, run{17, n - 3, 3})
		default: // the length itself, then how often it is repeated
			runs = append(runs, run{symbol: int(rest[0])})
			if same = 1; n >= 4 && rest[0] != 0 {
				same = min(n, 7)
				runs = append(runs, run{16, same - 4, 2})
			}
		}
		rest = rest[same:]
	}
	var n [19]int
	for _, r := range runs {
		n[r.symbol]++
	}
	runBits := codeLengths(n[:], 7)
	order := []int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	for len(order) > 4 && runBits[order[len(order)-1]] == 0 {
		order = order[:len(order)-1]
	}
	w.write(len(lengths)-firstLength, 5)
	w.write(len(distances)-1, 5)
	w.write(len(order)-4, 4)
	for _, symbol := range order {
		w.write(int(runBits[symbol]), 3)
	}
	runCodes := codes(runBits)
	for _, r := range runs {
		w.write(int(runCodes[r.symbol]), int(runBits[r.symbol]))
		w.write(r.value, r.bits)
	}
}

// trim removes zeros at the end down to a least length.
func trim(lengths []byte, least int) []byte {
	for len(lengths) > least && lengths[len(lengths)-1] == 0 {
		lengths = lengths[:len(lengths)-1]
	}
	return lengths
}
