package identity

// FillHashing takes all places of passwords that are hashed or wait for it, until release is called.
func (i *Identity) FillHashing() (release func()) {
	h := i.hasher
	take := func(by int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.inHand += by
	}
	take(maxInHand)
	return func() { take(-maxInHand) }
}
