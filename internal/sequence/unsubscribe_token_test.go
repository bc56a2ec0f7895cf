package sequence

import (
	"slices"
	"testing"

	"github.com/google/uuid"
)

// TestOldTokens checks that links of emails that earlier versions have sent stay valid.
func TestOldTokens(t *testing.T) {
	s := signer{[]byte("secret")}
	org, message := uuid.New(), uuid.New()
	signed := slices.Concat(org[:], message[:])
	token := tokenEncoding.EncodeToString(slices.Concat(signed, s.sign(signed)))
	if ids, ok := s.open(token); !ok || ids != (linkIDs{org, message, uuid.Nil}) {
		t.Errorf("the token of an earlier version is %v, %t", ids, ok)
	}
	ids := linkIDs{org, message, uuid.New()}
	if opened, ok := s.open(s.token(ids)); !ok || opened != ids {
		t.Errorf("%v became %v, %t", ids, opened, ok)
	}
	other := signer{[]byte("other")}
	if _, ok := other.open(token); ok {
		t.Error("a token is valid with another secret")
	}
}
