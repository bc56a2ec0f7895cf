// Package password judges and hashes passwords.
package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"prospector/internal/fault"
)

const (
	minLength = 10  // characters
	maxLength = 256 // bytes
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

const (
	// maxHashing limits how many passwords are hashed at once, because each takes 19 MB and all of a core.
	maxHashing = 2
	// maxInHand limits how many are hashed or wait for it, so that nobody waits for much longer than hashingWait,
	// and maxInHandOfClient how many of them are from one client.
	maxInHand         = 100
	maxInHandOfClient = 5
	hashingWait       = 2 * time.Second
)

// Hasher hashes passwords with argon2id, a few at a time. It refuses passwords that would have to wait for long.
type Hasher struct {
	running chan struct{} // has an element for each password that is being hashed

	mu      sync.Mutex
	inHand  int
	clients map[string]int // their part of inHand
}

// NewHasher returns a hasher that hashes nothing yet.
func NewHasher() *Hasher {
	return &Hasher{running: make(chan struct{}, maxHashing), clients: map[string]int{}}
}

// Reserve counts a password of a client as in hand, until Unreserve. If too many are in hand already, it
// returns rate_limited.
func (h *Hasher) Reserve(client string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inHand == maxInHand || h.clients[client] == maxInHandOfClient {
		refusal := fault.New(fault.RateLimited, "too many sign-ins are in progress; try again later")
		refusal.Wait = hashingWait
		return refusal
	}
	h.inHand++
	h.clients[client]++
	return nil
}

// Unreserve ends what Reserve began.
func (h *Hasher) Unreserve(client string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inHand--
	if h.clients[client]--; h.clients[client] == 0 {
		delete(h.clients, client)
	}
}

// enter waits until a password of a client can be hashed. The caller must call leave then. It returns
// rate_limited if too many wait already, and the cause if ctx ends first.
func (h *Hasher) enter(ctx context.Context, client string) error {
	if err := h.Reserve(client); err != nil {
		return err
	}
	select {
	case h.running <- struct{}{}:
		return nil
	case <-ctx.Done():
		h.Unreserve(client)
		return context.Cause(ctx)
	}
}

func (h *Hasher) leave(client string) {
	<-h.running
	h.Unreserve(client)
}

func (h *Hasher) sum(ctx context.Context, client, password string, salt []byte, cost hashCost) ([]byte, error) {
	if err := h.enter(ctx, client); err != nil {
		return nil, err
	}
	defer h.leave(client)
	return key(password, salt, cost), nil
}

func key(password string, salt []byte, cost hashCost) []byte {
	return argon2.IDKey([]byte(password), salt, cost.passes, cost.memory, cost.lanes, sumBytes)
}

// Hash checks a new password of a client and returns its hash in the usual text form, which names the algorithm, its
// cost and the salt. It refuses a password that is easy to guess with words of its user. It takes long, so it is not
// for a transaction.
func (h *Hasher) Hash(ctx context.Context, client, password string, words ...string) (string, error) {
	if err := check(password); err != nil {
		return "", err
	}
	salt := make([]byte, saltBytes)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	if err := h.enter(ctx, client); err != nil {
		return "", err
	}
	defer h.leave(client)
	if err := checkStrength(password, words); err != nil {
		return "", err
	}
	sum := key(password, salt, currentCost)
	c, b64 := currentCost, base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, c.memory, c.passes, c.lanes, b64.EncodeToString(salt), b64.EncodeToString(sum)), nil
}

// Matches reports whether a password has the hash. Without a hash it takes as long and reports false, so
// that the time does not tell whether there is one.
func (h *Hasher) Matches(ctx context.Context, client, hash, password string) (bool, error) {
	cost, salt, want, ok := parseHash(hash)
	if !ok {
		cost, salt = currentCost, make([]byte, saltBytes)
	}
	sum, err := h.sum(ctx, client, password, salt, cost)
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

// check returns what is wrong with a new password.
func check(password string) error {
	var p fault.Problems
	if n := utf8.RuneCountInString(password); n < minLength {
		p.Invalid("password", "must have at least %d characters, not %d", minLength, n)
	} else if len(password) > maxLength {
		p.Invalid("password", "must have at most %d bytes, not %d", maxLength, len(password))
	}
	return p.Err()
}
