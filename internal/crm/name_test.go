package crm_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/crm"
)

func TestNameKeys(t *testing.T) {
	acme := uuid.NullUUID{UUID: uuid.MustParse("019cb03f-5a10-7d21-9c52-1b6cf94a8e25"), Valid: true}
	key := crm.ContactNameKey("Hans", "Müller", acme)
	for name, same := range map[string]string{
		"case and spaces": crm.ContactNameKey(" HANS ", "mu\u0308ller\t", acme),
		"line break":      crm.ContactNameKey("Hans\n", "Müller", acme),
		"umlaut":          crm.ContactNameKey("Hans", "Mueller", acme),
		"accent":          crm.ContactNameKey("Hàns", "Muller", acme),
		"title":           crm.ContactNameKey("Dr. Hans", "Müller", acme),
		"order":           crm.ContactNameKey("Müller", "Hans", acme),
	} {
		if same != key {
			t.Errorf("%s: %q is not %q", name, same, key)
		}
	}
	for name, other := range map[string]string{
		"name":       crm.ContactNameKey("Hans", "Mahler", acme),
		"no account": crm.ContactNameKey("Hans", "Müller", uuid.NullUUID{}),
		"separator":  crm.ContactNameKey("Hans\x1f", "Müller\x1f"+acme.UUID.String(), uuid.NullUUID{}),
	} {
		if other == key || other == "" {
			t.Errorf("%s: %q", name, other)
		}
	}
	if key := crm.ContactNameKey("", "Müller", acme); key != "" {
		t.Errorf("half a name has the key %q", key)
	}
	if with := crm.AccountNameKey("Acme", "Germany"); !strings.HasPrefix(with, crm.AccountNameKey("ACME ", "")) {
		t.Errorf("%q does not begin with the key of the name", with)
	}
	long := strings.Repeat("ü", 300)
	if a, b := crm.AccountNameKey(long+"a", ""), crm.AccountNameKey(long+"b", ""); a == b || len(a) > 150 {
		t.Errorf("long names have the keys %q and %q", a, b)
	}
}
