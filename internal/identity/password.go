package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"prospector/internal/fault"
)

const (
	minPassword = 10  // characters
	maxPassword = 256 // bytes
)

// hashCost is how much work a guess of a password costs.
type hashCost struct {
	memory uint32 // KiB
	passes uint32
	lanes  uint8
}

// currentCost is what new hashes are made with. A stored hash names its own.
var currentCost = hashCost{memory: 19 * 1024, passes: 2, lanes: 1}

const (
	saltBytes = 16
	sumBytes  = 32
)

// maxHashing limits how many passwords are hashed at once, because each takes 19 MB and all of a core.
const maxHashing = 2

// hasher hashes passwords with argon2id, a few at a time.
type hasher chan struct{}

func newHasher() hasher { return make(hasher, maxHashing) }

func (h hasher) sum(ctx context.Context, password string, salt []byte, cost hashCost) ([]byte, error) {
	select {
	case h <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-h }()
	return argon2.IDKey([]byte(password), salt, cost.passes, cost.memory, cost.lanes, sumBytes), nil
}

// hash returns the hash of a password in the usual text form, which names the algorithm, its cost and the
// salt.
func (h hasher) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltBytes)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	sum, err := h.sum(ctx, password, salt, currentCost)
	c, b64 := currentCost, base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, c.memory, c.passes, c.lanes, b64.EncodeToString(salt), b64.EncodeToString(sum)), err
}

// matches reports whether a password has the hash. Without a hash it takes as long and reports false, so
// that the time does not tell whether there is one.
func (h hasher) matches(ctx context.Context, hash, password string) (bool, error) {
	cost, salt, want, ok := parseHash(hash)
	if !ok {
		cost, salt = currentCost, make([]byte, saltBytes)
	}
	sum, err := h.sum(ctx, password, salt, cost)
	return ok && err == nil && subtle.ConstantTimeCompare(sum, want) == 1, err
}

func parseHash(hash string) (cost hashCost, salt, sum []byte, ok bool) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return cost, nil, nil, false
	}
	_, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &cost.memory, &cost.passes, &cost.lanes)
	if err == nil {
		salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	}
	if err == nil {
		sum, err = base64.RawStdEncoding.DecodeString(parts[5])
	}
	return cost, salt, sum, err == nil && len(sum) == sumBytes && cost.passes > 0 && cost.lanes > 0
}

// checkPassword adds what is wrong with a new password to p.
func checkPassword(path, password string, p *fault.Problems) {
	if n := utf8.RuneCountInString(password); n < minPassword {
		p.Invalid(path, "must have at least %d characters, not %d", minPassword, n)
	} else if len(password) > maxPassword {
		p.Invalid(path, "must have at most %d bytes, not %d", maxPassword, len(password))
	}
}
