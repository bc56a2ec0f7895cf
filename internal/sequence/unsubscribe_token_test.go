package sequence

import (
	"slices"
	"testing"

	"github.com/google/uuid"
)

// TestOldTokens checks that links of emails stay valid that earlier versions have sent, or another installation from which
// the organization came.
func TestOldTokens(t *testing.T) {
	s := signer{secret: []byte("secret")}
	org, message := uuid.New(), uuid.New()
	signed := slices.Concat(org[:], message[:])
	token := tokenEncoding.EncodeToString(slices.Concat(signed, sign(s.secret, signed)))
	if ids, ok := s.open(token); !ok || ids != (linkIDs{org, message, uuid.Nil}) {
		t.Errorf("the token of an earlier version is %v, %t", ids, ok)
	}
	ids := linkIDs{org, message, uuid.New()}
	if opened, ok := s.open(s.token(ids)); !ok || opened != ids {
		t.Errorf("%v became %v, %t", ids, opened, ok)
	}
	other := signer{secret: []byte("other")}
	if _, ok := other.open(token); ok {
		t.Error("a token is valid with another secret")
	}
	if _, ok := other.open(s.token(ids)); ok {
		t.Error("a token of another installation is valid")
	}
	other.broughtKeys.Store(org, s.key(org))
	if opened, ok := other.open(s.token(ids)); !ok || opened != ids || other.token(ids) != s.token(ids) {
		t.Errorf("%v became %v, %t where the organization has moved to", ids, opened, ok)
	}
	foreign := linkIDs{uuid.New(), message, ids.contact}
	if _, ok := other.open(s.token(foreign)); ok {
		t.Error("the key of an organization is valid for another one")
	}
}
