package shape

// CountValues returns the number of JSON values in a body: objects, lists, and everything in them.
// It does not allocate, so it can refuse a body before ParseObject allocates many times the memory
// of the body. If the body is not valid JSON, the result is at least the number of values that
// ParseObject reads before it fails.
func CountValues(body []byte) int {
	count := 1 // every other value follows a comma or is the first in its object or list
	opened := false
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			continue
		}
		if c == ',' || opened && c != '}' && c != ']' {
			count++
		}
		opened = c == '{' || c == '['
		if c == '"' {
			i = endOfString(body, i)
		}
	}
	return count
}

// endOfString returns the index of the quote that ends the string whose first quote is at start.
func endOfString(body []byte, start int) int {
	for i := start + 1; i < len(body); i++ {
		switch body[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(body)
}
